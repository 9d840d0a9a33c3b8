// Package server holds the doors through which agents reach a host: MCP on
// stdio, and the forms in which model providers write tools and calls.
//
// A door decides nothing. It reads a message strictly, hands each proposal to
// Host.Call with the bytes that the model wrote, and gives back the result and
// the call's id; gate, code and reason are for operators, in the record. What is
// no message of its protocol reaches no tool and is recorded too.
package server
