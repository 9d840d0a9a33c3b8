package config

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Limits name their unit: a bare number does not say whether it counts
// milliseconds or seconds, bytes or pages.

var (
	durationForm = regexp.MustCompile(`^(?:[0-9]{1,6}m)?(?:[0-9]{1,6}s)?(?:[0-9]{1,6}ms)?$`)
	daysForm     = regexp.MustCompile(`^[1-9][0-9]{0,4}d$`)
	sizeForm     = regexp.MustCompile(`^(0|[1-9][0-9]{0,8})(B|KiB|MiB|GiB)$`)
)

// duration gives the duration at key, from low to high.
func (s section) duration(key string, low, high time.Duration) (time.Duration, bool) {
	text, ok := s.text(key)
	if !ok {
		return 0, false
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil || !durationForm.MatchString(text):
		s.fault(key, `%s is no duration; write whole numbers of m, s and ms, like "1m30s" or "500ms"`, quote(text))
		return 0, false
	case d < low || d > high:
		s.fault(key, "%s is out of bounds, from %s to %s", quote(text), showDuration(low), showDuration(high))
		return 0, false
	}
	return d, true
}

// days gives the number of days at key, from low to high. It is no duration: a
// limit of a call in days would be a mistake.
func (s section) days(key string, low, high int) (int, bool) {
	text, ok := s.text(key)
	if !ok {
		return 0, false
	}
	days, err := strconv.Atoi(strings.TrimSuffix(text, "d"))
	switch {
	case err != nil || !daysForm.MatchString(text):
		s.fault(key, `%s is no number of days; write a whole number from 1 and d, like "365d"`, quote(text))
		return 0, false
	case days < low || days > high:
		s.fault(key, "%s is out of bounds, from %dd to %dd", quote(text), low, high)
		return 0, false
	}
	return days, true
}

// size gives the number of bytes at key, from low to high.
func (s section) size(key string, low, high int64) (int64, bool) {
	text, ok := s.text(key)
	if !ok {
		return 0, false
	}
	bytes, ok := parseSize(text)
	switch {
	case !ok:
		s.fault(key, `%s is no size; write a whole number of B, KiB, MiB or GiB, like "32MiB"`, quote(text))
		return 0, false
	case bytes < low || bytes > high:
		s.fault(key, "%s is out of bounds, from %s to %s", quote(text), ShowSize(low), ShowSize(high))
		return 0, false
	}
	return bytes, true
}

func parseSize(text string) (int64, bool) {
	m := sizeForm.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	number, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return 0, false
	}
	shift := map[string]uint{"B": 0, "KiB": 10, "MiB": 20, "GiB": 30}[m[2]]
	return number << shift, true // nine digits of GiB fit an int64
}

// ShowSize writes a size as the file would, in the largest unit that divides it.
func ShowSize(bytes int64) string {
	switch {
	case bytes != 0 && bytes%(1<<30) == 0:
		return fmt.Sprintf("%dGiB", bytes>>30)
	case bytes != 0 && bytes%(1<<20) == 0:
		return fmt.Sprintf("%dMiB", bytes>>20)
	case bytes != 0 && bytes%(1<<10) == 0:
		return fmt.Sprintf("%dKiB", bytes>>10)
	}
	return fmt.Sprintf("%dB", bytes)
}

// showDuration writes a duration as the file would: 10m, where Go says 10m0s.
func showDuration(d time.Duration) string {
	text := ""
	if m := d / time.Minute; m > 0 {
		text += fmt.Sprintf("%dm", m)
	}
	if s := d % time.Minute / time.Second; s > 0 {
		text += fmt.Sprintf("%ds", s)
	}
	if ms := d % time.Second / time.Millisecond; ms > 0 {
		text += fmt.Sprintf("%dms", ms)
	}
	return text
}
