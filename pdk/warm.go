package pdk

import "slices"

// spareRoom is how many bytes a request or result may have before its buffer grows.
const spareRoom = 4 << 10

// warmUp goes through what a call goes through, without an answer of the host and without calling the
// author's function. The host keeps the memory that it leaves as the state in which every call begins,
// so that what was done here is done for all of them.
func warmUp() {
	defer func() { _ = recover() }() // a call will say what is wrong
	for _, v := range ownTypes {
		planFor(v)
	}
	rehearse()
	rehearse()
}

// ownTypes are those that this package sends and receives.
var ownTypes = []any{
	new(errorAnswer), new(logRequest), new(progressRequest), new(getRequest), new(getAnswer), new(listRequest),
	new(searchRequest), new(Rows), new(fileRequest), new(folderRequest), new(carried), new(Folder),
	new(fetchRequest), new(fetchAnswer), new(outboxRequest),
}

// rehearse decodes and encodes as a call does.
func rehearse() {
	if ready != nil {
		ready()
	}
	_, _ = ask("toolhost.arguments", hostArguments, nil) // is denied
	var answer getAnswer
	_ = unmarshal([]byte(`{"row":{"a":"b"}}`), &answer)
	w := writer{b: slices.Grow(takeSpare(), spareRoom)}
	_ = encodeTo(&w, map[string]any{"row": answer.Row, "error": ErrDenied.Error()})
	giveSpare(w.b)
}
