package exec

import (
	"bytes"
	"io"
	"testing"
)

// What a container writes to its standard error takes no memory of the client, however much it is.
func TestTheErrorsOfACopyHaveABound(t *testing.T) {
	var said headBuffer
	n, err := io.Copy(&said, io.LimitReader(endless('x'), 64<<20))
	if n != 64<<20 || err != nil || len(said.kept) != maxSaid || len(bytes.Trim(said.kept, "x")) > 0 {
		t.Errorf("%d bytes were taken and %d kept: %v", n, len(said.kept), err)
	}
}

type endless byte

// Read fills what is given with the byte.
func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}
