package logs

import (
	"bytes"
	"io"
	"os"
)

// tailOffset returns the offset of the last n lines of a file; it reads backwards. missing is the number of lines that the
// file has too few; the offset is then 0.
func tailOffset(task *os.Root, name string, n int) (offset int64, missing int, err error) {
	f, err := task.Open(name)
	if err != nil {
		return 0, n, ignoreMissing(err)
	}
	defer f.Close()
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, n, err
	}
	missing = n + 1 // the line end at the end of the file starts no line
	block := make([]byte, 64<<10)
	for end > 0 {
		size := min(end, int64(len(block)))
		if _, err := f.ReadAt(block[:size], end-size); err != nil {
			return 0, n, err
		}
		for at := int(size); ; {
			at = bytes.LastIndexByte(block[:at], '\n')
			if at < 0 {
				break
			}
			if missing--; missing == 0 {
				return end - size + int64(at) + 1, 0, nil
			}
		}
		end -= size
	}
	return 0, min(max(missing-1, 0), n), nil
}

func ignoreMissing(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}
