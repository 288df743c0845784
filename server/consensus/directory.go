package consensus

import "path/filepath"

// DirIn is the directory of Raft in a data directory: see Config.Dir.
func DirIn(dataDir string) string { return filepath.Join(dataDir, "raft") }

// WatermarkOf is the file that tells an older copy of a directory of Raft: see Config.Watermark.
func WatermarkOf(dir string) string { return dir + ".watermark" }
