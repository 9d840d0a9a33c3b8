//go:build wasip1

package pdk

import "unsafe"

// Every function of the host has one shape (docs/abi.md, A4). Each stands in a function of its own, called by its
// name only, so that the linker drops the imports that a plugin does not use: what a module imports is
// held against its grants.

//go:wasmimport toolhost arguments
//go:noescape
func importArguments(request unsafe.Pointer, requestLen uint32, response unsafe.Pointer, responseCap uint32) uint64

//go:wasmimport toolhost result
//go:noescape
func importResult(request unsafe.Pointer, requestLen uint32, response unsafe.Pointer, responseCap uint32) uint64

//go:wasmimport toolhost error
//go:noescape
func importError(request unsafe.Pointer, requestLen uint32, response unsafe.Pointer, responseCap uint32) uint64

//go:wasmimport toolhost log
//go:noescape
func importLog(request unsafe.Pointer, requestLen uint32, response unsafe.Pointer, responseCap uint32) uint64

//go:wasmimport toolhost progress
//go:noescape
func importProgress(request unsafe.Pointer, requestLen uint32, response unsafe.Pointer, responseCap uint32) uint64

//go:wasmimport records get
//go:noescape
func importRecordsGet(request unsafe.Pointer, requestLen uint32, response unsafe.Pointer, responseCap uint32) uint64

//go:wasmimport records list
//go:noescape
func importRecordsList(request unsafe.Pointer, requestLen uint32, response unsafe.Pointer, responseCap uint32) uint64

//go:wasmimport records search
//go:noescape
func importRecordsSearch(request unsafe.Pointer, requestLen uint32, response unsafe.Pointer, responseCap uint32) uint64

//go:wasmimport files read
//go:noescape
func importFilesRead(request unsafe.Pointer, requestLen uint32, response unsafe.Pointer, responseCap uint32) uint64

//go:wasmimport outbox append
//go:noescape
func importOutboxAppend(request unsafe.Pointer, requestLen uint32, response unsafe.Pointer, responseCap uint32) uint64

//go:wasmimport files list
//go:noescape
func importFilesList(request unsafe.Pointer, requestLen uint32, response unsafe.Pointer, responseCap uint32) uint64

//go:wasmimport fetch send
//go:noescape
func importFetchSend(request unsafe.Pointer, requestLen uint32, response unsafe.Pointer, responseCap uint32) uint64

func hostArguments(q, r []byte) uint64 { return importArguments(at(q), size(q), at(r), size(r)) }
func hostResult(q, r []byte) uint64    { return importResult(at(q), size(q), at(r), size(r)) }
func hostError(q, r []byte) uint64     { return importError(at(q), size(q), at(r), size(r)) }
func hostLog(q, r []byte) uint64       { return importLog(at(q), size(q), at(r), size(r)) }
func hostProgress(q, r []byte) uint64  { return importProgress(at(q), size(q), at(r), size(r)) }

func hostRecordsGet(q, r []byte) uint64  { return importRecordsGet(at(q), size(q), at(r), size(r)) }
func hostRecordsList(q, r []byte) uint64 { return importRecordsList(at(q), size(q), at(r), size(r)) }

func hostRecordsSearch(q, r []byte) uint64 {
	return importRecordsSearch(at(q), size(q), at(r), size(r))
}

func hostFilesRead(q, r []byte) uint64 { return importFilesRead(at(q), size(q), at(r), size(r)) }
func hostFilesList(q, r []byte) uint64 { return importFilesList(at(q), size(q), at(r), size(r)) }
func hostFetchSend(q, r []byte) uint64 { return importFetchSend(at(q), size(q), at(r), size(r)) }

func hostOutboxAppend(q, r []byte) uint64 { return importOutboxAppend(at(q), size(q), at(r), size(r)) }

func at(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }

func size(b []byte) uint32 { return uint32(len(b)) }

//go:wasmexport run
func run() int32 { return serve() }

//go:wasmexport warm_up
func warm() { warmUp() }
