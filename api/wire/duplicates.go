package wire

import (
	"bytes"
	"encoding/json"
)

// checkMembers refuses a body that names a member of an object twice, of which value has the last one: what stands before a server, or
// a person who reads the request, may have taken the first. Most bodies are decided by counting, which is cheap.
func checkMembers(body []byte, value any) error {
	if countColons(body) == countMembers(value) {
		return nil
	}
	name, offset := repeatedMember(body)
	line, column := position(body, offset)
	return Errorf(Serialization, "an object of the body has the member %q twice (line %d, column %d)", name, line, column)
}

// countColons counts the colons between names and values in valid JSON.
func countColons(body []byte) (n int) {
	quoted := false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\':
			i++ // only in strings: the next one does not end it
		case c == ':' && !quoted:
			n++
		}
	}
	return n
}

// countMembers counts the members of all objects in a decoded value.
func countMembers(value any) (n int) {
	switch v := value.(type) {
	case map[string]any:
		n = len(v)
		for _, member := range v {
			n += countMembers(member)
		}
	case []any:
		for _, element := range v {
			n += countMembers(element)
		}
	}
	return n
}

// repeatedMember is the first member of valid JSON whose object has one of the same name already, and where its name ends.
func repeatedMember(body []byte) (name string, offset int64) {
	type container struct {
		names  map[string]bool // nil in a list
		isName bool            // the next token is a name
	}
	var open []container
	for decoder := json.NewDecoder(bytes.NewReader(body)); ; {
		token, err := decoder.Token()
		if err != nil {
			return "", decoder.InputOffset()
		}
		if last := len(open) - 1; last >= 0 && open[last].names != nil {
			if text, is := token.(string); is && open[last].isName {
				if open[last].names[text] {
					return text, decoder.InputOffset()
				}
				open[last].names[text], open[last].isName = true, false
				continue
			}
			open[last].isName = true
		}
		switch token {
		case json.Delim('{'):
			open = append(open, container{names: map[string]bool{}, isName: true})
		case json.Delim('['):
			open = append(open, container{})
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
	}
}
