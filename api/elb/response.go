package elb

import "strconv"

const namespace = "http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/"

// empty is the result of an operation that has none.
type empty struct{}

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
