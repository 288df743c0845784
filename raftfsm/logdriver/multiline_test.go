package logdriver

import (
	"regexp"
	"testing"
)

func TestADatetimeFormatMatchesWhatStrftimeMakesOfIt(t *testing.T) {
	for _, c := range []struct {
		format, text string
		matches      bool
	}{
		{"%Y-%m-%d %H:%M:%S", "2026-01-02 03:04:05 INFO begins", true},
		{"%Y-%m-%d %H:%M:%S", "  at train.py:12", false},
		{"[%b %d, %Y %H:%M:%S]", "[Jan 02, 2026 03:04:05] begins", true},
		{"%d/%b/%Y:%H:%M:%S %z", "02/Jan/2026:03:04:05 +0100", true},
		{"%H:%M:%S.%f", "03:04:05.123456", true},
		{"%H:%M:%S.%f", "03:04:05", false},
		{"%-d.%-m.%Y", "2.1.2026", true},
		{"100%%", "100%", true},
	} {
		l := &Configuration{LogDriver: Awslogs, Options: map[string]string{optionDatetime: c.format}}
		pattern, err := l.Multiline()
		if err != nil || regexp.MustCompile(pattern).MatchString(c.text) != c.matches {
			t.Errorf("%s is %s, %v: %q", c.format, pattern, err, c.text)
		}
	}
}

func TestPatternsThatCannotBeMatchedAreRefused(t *testing.T) {
	for _, options := range []map[string]string{
		{optionMultiline: "("}, {optionMultiline: "(?=x)"}, {optionDatetime: "%Q"}, {optionDatetime: "%"}, {optionMultiline: "^x", optionDatetime: "%Y"},
	} {
		if pattern, err := (&Configuration{LogDriver: Awslogs, Options: options}).Multiline(); err == nil {
			t.Errorf("%v is %q", options, pattern)
		}
	}
	if pattern, err := (*Configuration)(nil).Multiline(); pattern != "" || err != nil {
		t.Errorf("%q, %v", pattern, err)
	}
}
