package server

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/toolhost/toolhost/host"
)

// Anthropic's Messages API: https://platform.claude.com/docs/en/api/messages and
// its pages "Streaming messages", "Handle tool calls" and "Strict tool use".

// maxStrictAnthropic is how many strict tools one request takes; see
// anthropicStrict.
const maxStrictAnthropic = 20

// anthropicTools writes the request's "tools". A tool that is not strict has no
// "strict" at all: older models do not know the word.
func anthropicTools(tools []host.Tool) FormTools {
	var out FormTools
	strict := 0
	out.JSON = appendEach(nil, len(tools), func(b []byte, i int) []byte {
		t := tools[i]
		b = appendField(b, `{"name`, t.Name)
		b = appendField(b, `,"description`, t.Description)
		b = formSchema(t).AppendJSON(append(b, `,"input_schema":`...))
		switch why := anthropicStrict().breach(formSchema(t)); {
		case why != "":
			out.Notes = append(out.Notes, notStrict(t, why))
		case strict == maxStrictAnthropic:
			out.Notes = append(out.Notes, fmt.Sprintf("%s is not strict: %d tools before it are, and a request takes no more", t.Name, strict))
		default:
			strict++
			b = append(b, `,"strict":true`...)
		}
		return append(b, '}')
	})
	return out
}

// An anthropicReader gathers the calls of one assistant message.
type anthropicReader struct {
	whole  bool // a message was there
	calls  []FormCall
	blocks map[int]*anthropicBlock
	ended  bool // the stream has had its message_stop
}

// An anthropicBlock is a content block of a stream.
type anthropicBlock struct {
	call  FormCall
	isUse bool      // tool_use; any other block is left alone
	input formValue // as content_block_start has it
	ended bool
}

func anthropicCalls(docs []formDocument) ([]FormCall, error) {
	r := &anthropicReader{blocks: map[int]*anthropicBlock{}}
	if err := eachDocument(docs, r.document); err != nil {
		return nil, err
	}
	for _, i := range slices.Sorted(maps.Keys(r.blocks)) {
		block := r.blocks[i]
		if !block.isUse {
			continue
		}
		if err := block.close(); err != nil {
			return nil, fmt.Errorf("content block %d: %w", i, err)
		}
		r.calls = append(r.calls, block.call)
	}
	if len(r.blocks) > 0 && !r.ended {
		return nil, errors.New("the stream was cut: it has no message_stop")
	}
	return r.calls, nil
}

// document reads a message, or one event of a stream. An event of a kind that
// is not known is left alone, as the API asks of clients.
func (r *anthropicReader) document(v formValue) error {
	m := v.members()
	kind, err := m["type"].text("type")
	if err != nil {
		return err
	}
	switch kind {
	case "error":
		return errors.New("is an error of the provider and no message")
	case "message_stop":
		r.ended = true
	case "message_start":
		return r.message(m["message"])
	case "content_block_start", "content_block_delta", "content_block_stop":
		i, err := m["index"].index()
		if err == nil {
			err = r.event(kind, i, m)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
	case "message", "":
		return r.message(v)
	}
	return nil
}

func (r *anthropicReader) message(v formValue) error {
	m := v.members()
	if err := firstMessage(&r.whole, m["role"]); err != nil {
		return err
	}
	if content := m["content"]; len(content) == 0 || content[0] == '"' {
		return nil // text alone
	}
	all, err := m["content"].elements("content")
	for i, v := range all {
		block, err := readBlock(v)
		if err != nil {
			return fmt.Errorf("content: item %d: %w", i, err)
		}
		if block.isUse {
			block.call.Arguments = block.input
			r.calls = append(r.calls, block.call)
		}
	}
	return err
}

// readBlock reads a content block; of other kinds than tool_use only that.
func readBlock(v formValue) (*anthropicBlock, error) {
	m := v.members()
	kind, err := m["type"].text("type")
	switch {
	case err != nil || kind == "":
		return nil, errors.New("must be an object with a type")
	case kind != "tool_use":
		return &anthropicBlock{}, nil
	}
	block := &anthropicBlock{isUse: true, input: v.all()["input"]}
	if block.call.ID, err = m["id"].text("id"); err == nil {
		block.call.Tool, err = m["name"].text("name")
	}
	return block, err
}

func (r *anthropicReader) event(kind string, i int, m map[string]formValue) error {
	block := r.blocks[i]
	switch {
	case kind == "content_block_start" && block != nil:
		return fmt.Errorf("block %d begins twice", i)
	case kind == "content_block_start":
		begun, err := readBlock(m["content_block"])
		r.blocks[i] = begun
		return err
	case block == nil || block.ended:
		return fmt.Errorf("block %d is not open", i)
	case kind == "content_block_stop":
		block.ended = true
		return nil
	case !block.isUse:
		return nil
	}
	delta := m["delta"].members()
	if kind, err := delta["type"].text("type"); err != nil || kind != "input_json_delta" {
		return fmt.Errorf("block %d: a tool_use takes only input_json_delta", i)
	}
	part, err := delta["partial_json"].text("partial_json")
	block.call.Arguments = append(block.call.Arguments, part...)
	return err
}

// close ends a streamed call. Of a call without arguments the parts are empty,
// and the input is the one that the block began with: it is not made up here.
func (b *anthropicBlock) close() error {
	switch {
	case !b.ended:
		return errors.New("does not end; the stream was cut")
	case len(b.call.Arguments) == 0:
		b.call.Arguments = b.input
	case len(b.input) > 0 && (!b.input.isObject() || len(b.input.all()) > 0):
		return errors.New("has an input where it begins and another in its parts")
	}
	return nil
}

func anthropicAnswer(calls []FormCall, outcomes []host.Outcome) []byte {
	b := appendEach([]byte(`{"role":"user","content":`), len(calls), func(b []byte, i int) []byte {
		b = appendField(append(b, `{"type":"tool_result",`...), `"tool_use_id`, calls[i].ID)
		b = appendField(b, `,"content`, string(outcomes[i].Result))
		if outcomes[i].State != host.OK && outcomes[i].State != host.Pending {
			b = append(b, `,"is_error":true`...)
		}
		return append(b, '}')
	})
	return append(b, '}')
}
