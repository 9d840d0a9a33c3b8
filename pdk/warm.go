package pdk

import (
	"reflect"
	"slices"
)

const (
	spareRoom = 4 << 10   // bytes that a request or result may have before its buffer grows
	heapRoom  = 256 << 10 // bytes that are left, more or less, until memory grows
)

// warmUp goes through what a call goes through, without an answer of the host and without calling the
// author's function. The host keeps the memory that it leaves as the state in which every call begins,
// so that what was done here is done for all of them.
func warmUp() {
	defer func() { _ = recover() }() // a call will say what is wrong
	for _, v := range ownTypes {
		planFor(v)
	}
	rehearse()
	growHeap()
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

// piece holds what growHeap allocates, so that it is not left out.
var piece []byte

// growHeap lets memory grow here and not in a call. What it allocates for that stays as garbage that
// no call touches: a collection would make it free, but each call then took a fifth longer.
func growHeap() {
	piece = make([]byte, heapRoom)
	piece = nil
}

// decodeNothing makes ready for decoding into what v points at.
func decodeNothing(v any) {
	defer func() { _ = recover() }() // a method of the author's may want more
	_ = decodeKept([]byte("{}"), v)
}

// encodeNothing makes ready for encoding what v points at, and its copy.
func encodeNothing(v any) {
	defer func() { _ = recover() }()
	var w writer
	_ = encodeTo(&w, v)
	_ = encodeTo(&w, reflect.ValueOf(v).Elem().Interface())
}
