//go:build !wasip1

package pdk

// Without a host every question is answered with "only inside toolhost".

func outside(_, _ []byte) uint64 { return statusOutside << 32 }

func hostArguments(q, r []byte) uint64     { return outside(q, r) }
func hostResult(q, r []byte) uint64        { return outside(q, r) }
func hostError(q, r []byte) uint64         { return outside(q, r) }
func hostLog(q, r []byte) uint64           { return outside(q, r) }
func hostProgress(q, r []byte) uint64      { return outside(q, r) }
func hostRecordsGet(q, r []byte) uint64    { return outside(q, r) }
func hostRecordsList(q, r []byte) uint64   { return outside(q, r) }
func hostRecordsSearch(q, r []byte) uint64 { return outside(q, r) }
func hostFilesRead(q, r []byte) uint64     { return outside(q, r) }
func hostFilesList(q, r []byte) uint64     { return outside(q, r) }
func hostFetchSend(q, r []byte) uint64     { return outside(q, r) }
func hostOutboxAppend(q, r []byte) uint64  { return outside(q, r) }
