package elb

import (
	"bytes"
	"encoding/xml"
	"strconv"
)

const namespace = "http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/"

// empty is the result of an operation that has none.
type empty struct{}

// response is the text of an answer: the result in its envelope.
func response(operation string, result any, requestID string) ([]byte, error) {
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

// maxPage is how many objects one answer has at most, ELB's.
const maxPage = 400

// page is the objects that a request asks for of all, and the marker of the next ones, empty behind the last.
func page[T any](in form, all []T) (some []T, next string, err error) {
	size, err := in.number("PageSize", 1, maxPage, maxPage)
	if err != nil {
		return nil, "", err
	}
	from, err := in.number("Marker", 0, len(all), 0)
	if err != nil {
		return nil, "", err
	}
	if until := from + size; until < len(all) {
		return all[from:until], strconv.Itoa(until), nil
	}
	return all[from:], "", nil
}

// attribute is one of the attributes of an object.
type attribute struct{ Key, Value string }
