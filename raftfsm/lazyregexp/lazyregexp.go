// Package lazyregexp has regular expressions that are compiled when they are first used. A package has them as variables, and most commands
// of pinion use none of them: compiled at the start of every process, they would cost each milliseconds, and a host memory.
package lazyregexp

import (
	"regexp"
	"sync"
)

// Regexp is a regular expression, compiled at its first use. Several goroutines may use it together.
type Regexp struct{ compiled func() *regexp.Regexp }

// New returns an expression, which has to be valid: its first use panics otherwise.
func New(expression string) Regexp {
	return Regexp{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })}
}

// MatchString reports whether the text contains a match.
func (r Regexp) MatchString(text string) bool { return r.compiled().MatchString(text) }

// FindStringSubmatch returns the first match and those of its groups, nil without a match.
func (r Regexp) FindStringSubmatch(text string) []string {
	return r.compiled().FindStringSubmatch(text)
}

// FindAllString returns the first matches, up to n of them, all if n is negative.
func (r Regexp) FindAllString(text string, n int) []string {
	return r.compiled().FindAllString(text, n)
}

// ReplaceAllString returns the text with each match replaced; $1 is what a group has matched.
func (r Regexp) ReplaceAllString(text, by string) string {
	return r.compiled().ReplaceAllString(text, by)
}

// ReplaceAllStringFunc returns the text with each match replaced by what the function makes of it.
func (r Regexp) ReplaceAllStringFunc(text string, by func(string) string) string {
	return r.compiled().ReplaceAllStringFunc(text, by)
}

// FindAllIndex returns where the first matches begin and end, up to n of them, all if n is negative.
func (r Regexp) FindAllIndex(text []byte, n int) [][]int { return r.compiled().FindAllIndex(text, n) }
