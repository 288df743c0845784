// Package guard holds the tests by which the house guards itself: which room may import which, and which rooms are
// pure.
package guard
