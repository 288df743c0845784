//go:build unix

package configfile

import (
	"io/fs"
	"os"
	"syscall"
)

// belongsToOthers reports whether a file is of a user who is neither root nor the one of this process.
func belongsToOthers(info fs.FileInfo) bool {
	owner := int(info.Sys().(*syscall.Stat_t).Uid)
	return owner != 0 && owner != os.Geteuid()
}
