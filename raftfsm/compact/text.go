package compact

import (
	"encoding/binary"
	"encoding/hex"
	"strings"
)

// Encodings of a text. All but the first are of lower-case hexadecimal digits, so that reading gives what was written.
const (
	plain     = iota
	hexDigits // an even number of them
	uuid      // 8-4-4-4-12
	gpuUUID   // the same, as NVIDIA names its GPUs
	formCount
)

const (
	uuidLength = 36
	uuidBytes  = 16
	gpuPrefix  = "GPU-"
)

// appendText writes a text in the shortest form.
func appendText(out []byte, s string) []byte {
	form, parts := formOf(s)
	if form == plain {
		out = binary.AppendUvarint(out, uint64(len(s))*formCount+plain)
		return append(out, s...)
	}
	length := 0
	for _, part := range parts {
		length += len(part) / 2
	}
	out = binary.AppendUvarint(out, uint64(length)*formCount+uint64(form))
	for _, part := range parts {
		for i := 0; i < len(part); i += 2 {
			out = append(out, nibble(part[i])<<4|nibble(part[i+1]))
		}
	}
	return out
}

// formOf finds the form of a text, and the digits in it.
func formOf(s string) (form int, parts [5]string) {
	form, parts[0] = hexDigits, s
	bare, isGPU := strings.CutPrefix(s, gpuPrefix)
	if isUUIDLayout(bare) {
		form, parts = uuid, [5]string{bare[:8], bare[9:13], bare[14:18], bare[19:23], bare[24:]}
		if isGPU {
			form = gpuUUID
		}
	}
	for _, part := range parts {
		if len(part)%2 > 0 || !isLowerHex(part) {
			return plain, parts
		}
	}
	return form, parts
}

// isUUIDLayout says whether a text has the length of a UUID and its dashes.
func isUUIDLayout(s string) bool {
	return len(s) == uuidLength && s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-'
}

func isLowerHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// nibble is the value of a digit.
func nibble(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c - 'a' + 10
}

// unpack is the text of these bytes, in out when it is not plain; false when they are not of that form.
func unpack(out []byte, form uint64, packed []byte) (text []byte, ok bool) {
	switch form {
	case plain:
		return packed, true
	case hexDigits:
		return hex.AppendEncode(out, packed), true
	case uuid:
		return appendUUID(out, packed)
	}
	return appendUUID(append(out, gpuPrefix...), packed)
}

func appendUUID(out, packed []byte) ([]byte, bool) {
	if len(packed) != uuidBytes {
		return nil, false
	}
	for at := 0; at < uuidBytes; at += 2 {
		if at == 4 || at == 6 || at == 8 || at == 10 {
			out = append(out, '-')
		}
		out = hex.AppendEncode(out, packed[at:at+2])
	}
	return out, true
}
