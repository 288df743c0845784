// Package logfilter has the patterns that hosts match lines of logs with, bounded so that a caller who may only read takes little of a host.
package logfilter

import (
	"errors"
	"fmt"
	"regexp"
	"time"

	"pinion/raftfsm/re2"
)

const (
	// MaxPattern bounds the text of a pattern, in bytes.
	MaxPattern = 1024
	// maxInstructions bounds the compiled program of a pattern. RE2 takes as many steps for a byte at most.
	maxInstructions = 2000
)

// Filter selects lines of a log. The zero value is all of them.
type Filter struct {
	Until  time.Time // only lines before; zero: without an end
	Grep   string    // only lines with a match, a regular expression as Compile takes it; empty: all
	Invert bool      // only lines without a match of Grep
}

// IsZero reports whether the filter leaves no line out.
func (f Filter) IsZero() bool { return f == Filter{} }

// Check is the error of a filter that Matcher would refuse.
func (f Filter) Check() error {
	_, err := f.Matcher()
	return err
}

// Matcher tells the lines of a filter by their text; it does not look at Until.
func (f Filter) Matcher() (matches func(text string) bool, err error) {
	if f.Grep == "" {
		if f.Invert {
			return nil, errors.New("there is no pattern to invert")
		}
		return func(string) bool { return true }, nil
	}
	pattern, err := Compile(f.Grep)
	if err != nil {
		return nil, err
	}
	return func(text string) bool { return pattern.MatchString(text) != f.Invert }, nil
}

// Compile compiles a pattern of RE2's syntax (https://github.com/google/re2/wiki/Syntax), which takes time linear in the text. One longer
// than MaxPattern, or that repeats too much, is refused.
func Compile(pattern string) (*regexp.Regexp, error) {
	if len(pattern) > MaxPattern {
		return nil, fmt.Errorf("a pattern may have %d bytes, not %d", MaxPattern, len(pattern))
	}
	_, err := re2.Check(pattern, re2.Cost{Instructions: maxInstructions, Classes: re2.MaxClasses})
	if _, costs := errors.AsType[*re2.CostError](err); costs {
		return nil, fmt.Errorf("%q costs too much: %w", pattern, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%q is not a regular expression of RE2: %w", pattern, err)
	}
	return regexp.Compile(pattern)
}
