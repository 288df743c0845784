//go:build !unix

package configfile

import "io/fs"

// belongsToOthers is false where no host can run.
func belongsToOthers(fs.FileInfo) bool { return false }
