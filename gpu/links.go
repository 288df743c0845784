package gpu

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"iter"
	"slices"
	"strings"
)

// Links are the links of one device, packed into one text: a pool of thousands of hosts has more links than anything else, and in a list of them the
// garbage collector would look at each. In JSON and in the state's encoding they are a list of Link. The zero value has none,
// and + makes one list of two.
//
// A link is the number of its kind (a byte; a kind without one follows as a text), its lanes (varint) and its peer (a 0 and the 16 bytes of a UUID,
// or a text). A text is its length plus one (uvarint), and its bytes.
type Links string

// numberedKinds are the kinds of links by their number.
var numberedKinds = []LinkKind{LinkSystem, LinkNode, LinkHost, LinkSwitches, LinkSwitch, LinkNVLink}

const (
	unnumbered = 0xff
	uuidPrefix = "GPU-"
	uuidBytes  = 16
	uuidLength = len(uuidPrefix) + 36
)

// PackLinks packs links in their order.
func PackLinks(links ...Link) Links {
	out := make([]byte, 0, len(links)*(3+uuidBytes))
	for _, link := range links {
		if number := slices.Index(numberedKinds, link.Kind); number >= 0 {
			out = append(out, byte(number))
		} else {
			out = appendText(append(out, unnumbered), string(link.Kind))
		}
		out = appendPeer(binary.AppendVarint(out, int64(link.Lanes)), link.Peer)
	}
	return Links(out)
}

// All visits the links in their order.
func (l Links) All() iter.Seq[Link] {
	return func(yield func(Link) bool) {
		for peer, link := range l.packed() {
			if link.Peer = unpackPeer(peer); !yield(link) {
				return
			}
		}
	}
}

// packed visits the links with their peers as appendPeer writes them, and not in the link.
func (l Links) packed() iter.Seq2[string, Link] {
	return func(yield func(string, Link) bool) {
		for rest := linkBytes(l); len(rest) > 0; {
			var link Link
			if number := rest.take(1)[0]; number == unnumbered {
				link.Kind = LinkKind(rest.text())
			} else {
				link.Kind = numberedKinds[number]
			}
			lanes, size := binary.Varint(rest.number())
			rest.take(size)
			if link.Lanes = int(lanes); !yield(rest.peer(), link) {
				return
			}
		}
	}
}

// linkBytes is the unread rest of packed links.
type linkBytes string

func (b *linkBytes) take(n int) string {
	taken := (*b)[:n]
	*b = (*b)[n:]
	return string(taken)
}

// number is the bytes in which a number begins.
func (b *linkBytes) number() []byte { return []byte((*b)[:min(len(*b), binary.MaxVarintLen64)]) }

func (b *linkBytes) text() string {
	length, size := binary.Uvarint(b.number())
	b.take(size)
	return b.take(int(length) - 1)
}

func (b *linkBytes) peer() string {
	whole := string(*b)
	if (*b)[0] == 0 {
		return b.take(1 + uuidBytes)
	}
	b.text()
	return whole[:len(whole)-len(*b)]
}

func appendText(out []byte, s string) []byte {
	return append(binary.AppendUvarint(out, uint64(len(s))+1), s...)
}

func appendPeer(out []byte, peer string) []byte {
	if id, is := parseUUID(peer); is {
		return append(append(out, 0), id[:]...)
	}
	return appendText(out, peer)
}

func unpackPeer(packed string) string {
	b := linkBytes(packed)
	if b[0] != 0 {
		return b.text()
	}
	return string(appendUUID(make([]byte, 0, uuidLength), [uuidBytes]byte([]byte(packed[1:]))))
}

// parseUUID reads what appendUUID writes, and nothing else.
func parseUUID(s string) (id [uuidBytes]byte, is bool) {
	if len(s) != uuidLength || !strings.HasPrefix(s, uuidPrefix) {
		return id, false
	}
	digits := make([]byte, 0, uuidLength)
	for i := len(uuidPrefix); i < len(s); i++ {
		if s[i] != '-' {
			digits = append(digits, s[i])
		}
	}
	if len(digits) != hex.EncodedLen(uuidBytes) {
		return id, false
	}
	_, err := hex.Decode(id[:], digits)
	return id, err == nil && string(appendUUID(make([]byte, 0, uuidLength), id)) == s
}

// appendUUID writes a UUID as NVIDIA names its GPUs.
func appendUUID(out []byte, id [uuidBytes]byte) []byte {
	out = append(out, uuidPrefix...)
	for at := 0; at < uuidBytes; at += 2 {
		if at >= 4 && at <= 10 {
			out = append(out, '-')
		}
		out = hex.AppendEncode(out, id[at:at+2])
	}
	return out
}

// Unpack returns a pointer to the list of links, and Pack takes one: the state's encoding writes and reads that.
func (l *Links) Unpack() any {
	links := slices.Collect(l.All())
	return &links
}

// Pack takes a pointer to a list of links.
func (l *Links) Pack(links any) { *l = PackLinks(*links.(*[]Link)...) }

// MarshalJSON writes a list.
func (l Links) MarshalJSON() ([]byte, error) { return json.Marshal(l.Unpack()) }

// UnmarshalJSON reads a list.
func (l *Links) UnmarshalJSON(text []byte) error {
	var links []Link
	if err := json.Unmarshal(text, &links); err != nil {
		return err
	}
	l.Pack(&links)
	return nil
}
