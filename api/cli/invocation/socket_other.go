//go:build !unix

package invocation

// mayUse is false where no host can run.
func mayUse(string) bool { return false }
