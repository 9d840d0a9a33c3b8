package host

import (
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/config"
)

// A window begins as many days ago as it says, whatever the clocks of its zone
// have done since: where they go forward at midnight, the first hour of that day
// is not there.
func TestAttackWindowsAndClocks(t *testing.T) {
	for name, tt := range map[string]struct {
		zone, now string
		days      int
		want      string
	}{
		"today":                   {"UTC", "2026-10-15T23:59:59.999Z", 1, "2026-10-15"},
		"tomorrow-there":          {"Europe/Paris", "2026-10-15T22:00:00Z", 1, "2026-10-16"},
		"yesterday-there":         {"America/Toronto", "2026-10-15T03:59:59Z", 1, "2026-10-14"},
		"across-the-date-line":    {"Pacific/Kiritimati", "2026-10-15T10:00:00Z", 1, "2026-10-16"},
		"over-the-end-of-a-year":  {"UTC", "2026-01-01T00:00:00Z", 2, "2025-12-31"},
		"over-the-29th":           {"UTC", "2028-03-01T00:00:00Z", 2, "2028-02-29"},
		"ten-years":               {"UTC", "2026-10-15T00:00:00Z", 3660, "2016-10-08"},
		"no-such-hour-that-day":   {"Africa/Cairo", "2026-04-24T21:30:00Z", 2, "2026-04-24"},     // 00:30 on the 25th; on the 24th there is none
		"nor-here":                {"America/Santiago", "2026-09-07T03:30:00Z", 2, "2026-09-06"}, // 00:30 on the 7th
		"an-hour-twice-that-day":  {"Europe/Paris", "2026-10-26T01:30:00Z", 2, "2026-10-25"},
		"a-day-that-was-left-out": {"Pacific/Apia", "2012-01-01T10:00:00Z", 3, "2011-12-31"}, // after the 29th came the 31st
	} {
		t.Run(name, func(t *testing.T) {
			zone, err := time.LoadLocation(tt.zone)
			mustDo(t, err)
			now, err := time.Parse(time.RFC3339, tt.now)
			mustDo(t, err)
			f := fact{Fact: config.Fact{Within: config.Window{Column: "paid_on", Days: tt.days, Zone: zone}}}
			if got := f.since(now); got != tt.want {
				t.Errorf("since %s, want %s", got, tt.want)
			}
		})
	}
}
