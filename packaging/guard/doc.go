// Package guard holds the tests by which the house guards itself: which package may import which, which packages are pure, how
// large packages, files, functions and types may be, that exported names are documented, and that tests wait for what happens
// and not for time to pass.
package guard
