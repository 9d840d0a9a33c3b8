// Package audit keeps the log of what a host decided and did.
//
// A log is one folder:
//
//	entries.jsonl   one canonical JSON object a line (RFC 8785); a leaf is the line's bytes without its end;
//	                the file is locked while one group of entries is written, and until it is on disk
//	tree            the hashes of the RFC 6962 tree over the lines, in the order of golang.org/x/mod/sumdb/tlog
//	checkpoints     signed notes, one after the other: how many lines, and their root hash
//	values/         what is personal, sealed, one file a day
//	people.db       a wrapped key for each person, and who a pseudonym is
//	index.db        made from entries.jsonl, to find an entry; it may be deleted at any time
//
// The key that signs, and with it the key that wraps the keys of people, lies
// elsewhere; the last checkpoint is kept in the state database too.
//
// # What holds
//
// Tests and comments cite these by number.
//
//	A1  An entry is on disk before Append returns; entries are neither dropped nor reordered. Of Event.Soon, the
//	    start of a call from which nothing leaves before its end, it is in the file when Append returns, and
//	    on disk before the end is; where that fails, the end is refused.
//	A2  What cannot be written is an error, and leaves the log as it was.
//	A3  One process writes at a time; what another one wrote is read before the next entry is.
//	A4  No personal value and no foreign text stands in entries.jsonl, tree, checkpoints or index.db.
//	A5  A value is sealed under its person's key before it is written; without that key nothing
//	    that is left tells it, nor confirms a guess at it.
//	A6  A log that is not what its checkpoints say is not written to.
//	A7  Recovery after a crash cuts what was never whole, and is an entry itself.
//
//	A8  Without the log's key nothing can be added that a host, or Verify with the key, takes in:
//	    every line and every row of people.db carries a stamp.
//
// A log proves that nothing before a checkpoint has changed since somebody kept
// that checkpoint. Who holds the key and every copy of the checkpoints can
// write another history: send them off the host.
package audit
