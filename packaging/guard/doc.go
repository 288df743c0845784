// Package guard holds the tests of the source itself: which package may import which, which packages are pure, how large
// packages, files, functions and types may be, that exported names are documented, that retired words stay retired, that the
// documentation names what exists and each DESIGN.md stays short, and that tests wait for what happens and not for time to
// pass.
package guard
