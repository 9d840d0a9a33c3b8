package pdk

// Cut gives the beginning of a text that takes at most so many characters (Unicode code points) in a
// result, and says whether something was cut. It counts as limits.result_chars does: the host writes
// the JSON of a result anew, with the shortest escapes that JSON has, and < > & as they are.
func Cut(text string, most int) (string, bool) {
	for i, r := range text {
		n := written(r)
		if n > most {
			return text[:i], true
		}
		most -= n
	}
	return text, false
}

// written is how many characters a character takes in the host's JSON (RFC 8785, section 3.2.2.2). A
// byte that is not UTF-8 becomes U+FFFD, which is one.
func written(r rune) int {
	switch {
	case r == '"', r == '\\', r == '\b', r == '\f', r == '\n', r == '\r', r == '\t':
		return len(`\n`)
	case r < ' ':
		return len(`\u0000`)
	default:
		return 1
	}
}
