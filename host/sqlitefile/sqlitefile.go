// Package sqlitefile names SQLite files for the driver, in one way for all who
// open one.
package sqlitefile

import "net/url"

// Name is the data source name of a file, whatever characters its path has,
// with the driver's options.
func Name(path string, options url.Values) string {
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: options.Encode()}).String()
}
