package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"sigs.k8s.io/yaml"

	"pinion/packaging/jsonshape"
	"pinion/raftfsm/lazyregexp"
)

// parseJSON reads exactly one JSON object; an empty body is an empty object. Numbers keep their text. A member that is named twice is an
// error, as in YAML.
func parseJSON(body []byte) (map[string]any, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return map[string]any{}, nil
	}
	if jsonshape.Check(body, maxElements) != nil {
		return nil, errTooManyElements()
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, syntaxError(body, err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		line, column := position(body, decoder.InputOffset())
		return nil, Errorf(Serialization, "the body is not valid JSON: there is something after the object (line %d, column %d)", line, column)
	}
	if err := checkMembers(body, value); err != nil {
		return nil, err
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, Errorf(Serialization, "the body must be a JSON object, not %s", jsonTypeName(value))
	}
	return object, nil
}

func syntaxError(body []byte, err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		line, column := position(body, syntax.Offset-1)
		return Errorf(Serialization, "the body is not valid JSON: %v (line %d, column %d)", syntax, line, column)
	}
	return Errorf(Serialization, "the body is not valid JSON: it ends too early")
}

// position turns an offset into line and column, both from 1.
func position(body []byte, offset int64) (line, column int) {
	before := body[:min(max(offset, 0), int64(len(body)))]
	return bytes.Count(before, []byte("\n")) + 1, len(before) - bytes.LastIndexByte(before, '\n')
}

// secondDocument is where another YAML document begins.
var secondDocument = lazyregexp.New(`(?m)^---(\s|$)`)

// hasContent reports whether anything but comments and directives precedes the offset.
func hasContent(body []byte, offset int) bool {
	for line := range bytes.Lines(bytes.TrimSpace(body)[:offset]) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' && line[0] != '%' {
			return true
		}
	}
	return false
}

// parseYAML reads one YAML mapping. Duplicate keys and a second document are errors: neither is dropped in silence.
func parseYAML(body []byte) (map[string]any, error) {
	if err := checkYAML(body); err != nil {
		return nil, err
	}
	if starts := secondDocument.FindAllIndex(bytes.TrimSpace(body), -1); len(starts) > 1 || len(starts) == 1 && starts[0][0] > 0 && hasContent(body, starts[0][0]) {
		return nil, Errorf(Serialization, "the YAML body holds more than one document (---): send them one by one")
	}
	if err := checkAliases(body); err != nil {
		return nil, err
	}
	text, err := yaml.YAMLToJSONStrict(body)
	if err != nil {
		return nil, Errorf(Serialization, "the body is not valid YAML: %v", err)
	}
	if bytes.Equal(text, []byte("null")) {
		return map[string]any{}, nil
	}
	if len(text) > 0 && text[0] != '{' {
		return nil, Errorf(Serialization, "the YAML body must be a mapping of fields")
	}
	return parseJSON(text)
}
