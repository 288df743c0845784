//go:build unix

package invocation

import "golang.org/x/sys/unix"

// mayUse reports whether there is a socket that this user may connect to.
func mayUse(socket string) bool { return unix.Access(socket, unix.W_OK) == nil }
