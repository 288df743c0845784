// Package schedule decides where tasks run. It is pure: the same hosts and requests give the same decisions, and
// nothing is recorded or carried out here.
package schedule
