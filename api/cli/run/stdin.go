package run

import (
	"io"
	"os"

	"pinion/api/cli/exit"
)

// refuseInput refuses what waits at standard input: no container gets it, and to drop it in silence would lose somebody's data. A pipe
// that is open and empty, as programs and ssh give to what they start, is let pass.
func refuseInput(stdin io.Reader) error {
	file, is := stdin.(*os.File)
	if !is {
		return nil
	}
	info, err := file.Stat()
	if err != nil {
		return nil // there is no standard input
	}
	waiting := false
	switch {
	case info.Mode()&os.ModeNamedPipe != 0:
		if waiting, err = isReadable(file); err != nil {
			return err
		}
	case info.Mode().IsRegular():
		at, err := file.Seek(0, io.SeekCurrent)
		if err != nil {
			return err
		}
		waiting = at < info.Size()
	}
	if !waiting {
		return nil
	}
	return exit.Usagef("standard input is passed with -i alone, and there is input: give -i with an image that has sh and sleep, mount a file with --volume, or say </dev/null")
}
