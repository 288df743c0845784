package query

import (
	"bytes"
	"encoding/xml"
)

// Response is the text of an answer: the result in its envelope of the namespace. An empty one is there too: clients look for it.
func Response(namespace, operation string, result any, requestID string) ([]byte, error) {
	var text bytes.Buffer
	w := xml.NewEncoder(&text)
	envelope := xml.StartElement{Name: xml.Name{Space: namespace, Local: operation + "Response"}}
	metadata := struct {
		RequestID string `xml:"RequestId"`
	}{requestID}
	named := func(name string) xml.StartElement { return xml.StartElement{Name: xml.Name{Local: name}} }
	for _, step := range []func() error{
		func() error { return w.EncodeToken(envelope) },
		func() error { return w.EncodeElement(result, named(operation+"Result")) },
		func() error { return w.EncodeElement(metadata, named("ResponseMetadata")) },
		func() error { return w.EncodeToken(envelope.End()) },
		w.Close,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return text.Bytes(), nil
}
