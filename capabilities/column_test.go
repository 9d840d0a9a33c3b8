package capabilities

import "testing"

func TestMinor(t *testing.T) {
	for _, tt := range []struct {
		units  int64
		places int
		text   string
	}{
		{0, 2, "0.00"},
		{5, 2, "0.05"},
		{-5, 2, "-0.05"},
		{1250, 2, "12.50"},
		{7, 0, "7"},
		{-1, 3, "-0.001"},
		{9223372036854775807, 2, "92233720368547758.07"},
		{-9223372036854775808, 2, "-92233720368547758.08"},
	} {
		if got := minor(tt.units, tt.places); got != tt.text {
			t.Errorf("minor(%d, %d) = %s, want %s", tt.units, tt.places, got, tt.text)
		}
		if got, ok := minorUnits(tt.text, tt.places); !ok || got != tt.units {
			t.Errorf("minorUnits(%s, %d) = %d %t", tt.text, tt.places, got, ok)
		}
	}
	if _, ok := minorUnits("92233720368547758.08", 2); ok {
		t.Error("an amount beyond int64 has units")
	}
}
