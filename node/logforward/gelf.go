package logforward

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"crypto/rand"
	"encoding/json"
	"io"
	"strconv"

	"pinion/node/logs"
)

const (
	// gelfChunk is the number of bytes of a message in a packet, small enough that no packet is cut on its way.
	gelfChunk = 1408
	// gelfChunks bounds the packets of a message.
	gelfChunks = 128
	// maxGELFText bounds the text of a line that travels in packets: JSON writes a byte of it with up to six.
	maxGELFText = 16 << 10
)

// gelf writes messages of GELF 1.1, as Docker's driver does.
type gelf struct {
	note      *forwardRecord
	tag, host string
	packets   bool // messages travel in packets, compressed, and cut into chunks
	compress  func(io.Writer) (io.WriteCloser, error)
}

// gelfCompression is the way to compress of the options; nil: none.
func gelfCompression(name, level string) func(io.Writer) (io.WriteCloser, error) {
	n, err := strconv.Atoi(level)
	if err != nil {
		n = gzip.BestSpeed
	}
	switch name {
	case "none":
		return nil
	case "zlib":
		return func(w io.Writer) (io.WriteCloser, error) { return zlib.NewWriterLevel(w, n) }
	}
	return func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriterLevel(w, n) }
}

func (g gelf) encode(lines []logs.StreamLine) (messages [][]byte) {
	most := maxBatchBytes
	if g.packets {
		most = maxGELFText
	}
	for i := range lines {
		for text := range pieces(lines[i].Text, most) {
			messages = append(messages, g.messages(&lines[i], text)...)
		}
	}
	return messages
}

func (g gelf) messages(l *logs.StreamLine, text string) [][]byte {
	members := map[string]any{
		"version": "1.1", "host": g.host, "short_message": text, "timestamp": json.Number(strconv.FormatFloat(float64(l.Time.UnixMilli())/1000, 'f', 3, 64)), "level": severityInfo,
	}
	if l.Stderr {
		members["level"] = severityError
	}
	if text == "" {
		members["short_message"] = "-" // the member may not be empty
	}
	for name, value := range g.note.Extra {
		members["_"+name] = value
	}
	for name, value := range map[string]string{"_container_id": g.note.ID, "_container_name": g.note.ID, "_image_name": g.note.Image, "_tag": g.tag} {
		members[name] = value
	}
	m, err := json.Marshal(members)
	if err != nil || !g.packets {
		return [][]byte{m} // texts and numbers have no errors
	}
	if g.compress != nil {
		var b bytes.Buffer
		w, err := g.compress(&b)
		if err == nil {
			_, _ = w.Write(m) // into memory
			if w.Close() == nil {
				m = b.Bytes()
			}
		}
	}
	return chunks(m)
}

// chunks cuts a message that does not fit into one packet.
func chunks(m []byte) (all [][]byte) {
	if len(m) <= gelfChunk {
		return [][]byte{m}
	}
	var id [8]byte
	rand.Read(id[:])
	count := (len(m) + gelfChunk - 1) / gelfChunk
	for i := range min(count, gelfChunks) {
		head := append([]byte{0x1e, 0x0f}, id[:]...)
		head = append(head, byte(i), byte(count))
		all = append(all, append(head, m[i*gelfChunk:min(len(m), (i+1)*gelfChunk)]...))
	}
	return all
}
