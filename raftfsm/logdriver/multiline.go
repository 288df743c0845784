package logdriver

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"pinion/raftfsm/logfilter"
)

const (
	optionMultiline = "awslogs-multiline-pattern"
	optionDatetime  = "awslogs-datetime-format"
)

// A record of several lines ends before one that does not fit these.
const (
	// MaxRecordLines bounds the lines of a record.
	MaxRecordLines = 1000
	// MaxRecordBytes bounds the bytes of a record, as an event of CloudWatch Logs.
	MaxRecordBytes = 256 << 10
	// RecordFlush is the time after its first line in which a record takes more, as with Docker's driver awslogs.
	RecordFlush = 5 * time.Second
)

// datetimeCodes are the codes of strftime that awslogs-datetime-format may have, as expressions.
var datetimeCodes = map[byte]string{
	'%': "%", 'a': "[A-Z][a-z]{2}", 'A': "[A-Z][a-z]{5,8}", 'b': "[A-Z][a-z]{2}", 'B': "[A-Z][a-z]{2,8}", 'd': "[0-9]{2}", 'H': "[0-9]{2}", 'I': "[0-9]{2}",
	'j': "[0-9]{3}", 'm': "[0-9]{2}", 'M': "[0-9]{2}", 'p': "[AP]M", 'S': "[0-9]{2}", 'y': "[0-9]{2}", 'Y': "[0-9]{4}", 'Z': "[A-Z]{1,4}T?", 'z': "[+-][0-9]{4}",
	'L': "[.,]?[0-9]{3}", 'f': "[0-9]{1,9}", 'w': "[0-6]", 'e': "[ 0-9][0-9]", 'F': "[0-9]{4}-[0-9]{2}-[0-9]{2}", 'T': "[0-9]{2}:[0-9]{2}:[0-9]{2}", 's': "[0-9]+",
}

// Multiline is the expression of RE2 that the first line of a record matches; empty: each line is a record of its own.
func (l *Configuration) Multiline() (string, error) {
	if l == nil || l.LogDriver != Awslogs {
		return "", nil
	}
	pattern, format := l.Options[optionMultiline], l.Options[optionDatetime]
	if pattern != "" && format != "" {
		return "", fmt.Errorf("%s and %s exclude each other: name one of them", optionMultiline, optionDatetime)
	}
	if format != "" {
		return datetimePattern(format)
	}
	if pattern == "" {
		return "", nil
	}
	_, err := logfilter.Compile(pattern)
	return pattern, err
}

// datetimePattern is the expression of what strftime makes of a format.
func datetimePattern(format string) (string, error) {
	var pattern strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			pattern.WriteString(regexp.QuoteMeta(format[i : i+1]))
			continue
		}
		i++
		if i == len(format) {
			return "", errors.New("a format ends in a code of strftime, not in a single %")
		}
		if i < len(format)-1 && format[i] == '-' { // without the zeros at the beginning
			i++
		}
		code, known := datetimeCodes[format[i]]
		if !known {
			return "", fmt.Errorf("%%%c is no code of strftime that Pinion knows", format[i])
		}
		if format[i-1] == '-' {
			code = strings.ReplaceAll(code, "{2}", "{1,2}")
		}
		pattern.WriteString(code)
	}
	_, err := logfilter.Compile(pattern.String())
	return pattern.String(), err
}

func isPattern(text string) bool {
	_, err := logfilter.Compile(text)
	return err == nil && text != ""
}

func isDatetimeFormat(text string) bool {
	_, err := datetimePattern(text)
	return err == nil && text != ""
}
