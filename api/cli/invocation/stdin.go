package invocation

import (
	"io"
	"os"

	"pinion/api/cli/exit"
)

// RefuseInput refuses what waits at standard input of a command that gives it to no container: to drop it in silence would lose somebody's data. A pipe
// that is open and empty, as programs and ssh give to what they start, is let pass. instead says what to do.
func RefuseInput(stdin io.Reader, instead string) error {
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
	return exit.Usagef("there is standard input, and no container gets it: %s, or say </dev/null", instead)
}
