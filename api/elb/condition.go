package elb

import (
	"net/netip"

	"pinion/api/wire"
	"pinion/raftfsm/lazyregexp"
	"pinion/raftfsm/traffic"
)

// conditionView is a condition as clients see it: the older form of it beside the newer one, as on ELB.
type conditionView struct {
	Field                   string
	Values                  []string     `xml:"Values>member"`
	HostHeaderConfig        *valuesView  `xml:",omitempty"`
	PathPatternConfig       *valuesView  `xml:",omitempty"`
	HttpHeaderConfig        *headerView  `xml:",omitempty"`
	HttpRequestMethodConfig *valuesView  `xml:",omitempty"`
	QueryStringConfig       *queriesView `xml:",omitempty"`
	SourceIpConfig          *valuesView  `xml:",omitempty"`
}

type valuesView struct {
	Values []string `xml:"Values>member"`
}

type headerView struct {
	HttpHeaderName string
	Values         []string `xml:"Values>member"`
}

type queriesView struct {
	Values []queryView `xml:"Values>member"`
}

type queryView struct {
	Key   string `xml:",omitempty"`
	Value string
}

func showCondition(c *traffic.Condition) conditionView {
	v, values := conditionView{Field: string(c.Field)}, &valuesView{c.Values}
	switch c.Field {
	case traffic.HostHeader:
		v.Values, v.HostHeaderConfig = c.Values, values
	case traffic.PathPattern:
		v.Values, v.PathPatternConfig = c.Values, values
	case traffic.HTTPHeader:
		v.HttpHeaderConfig = &headerView{c.Header, c.Values}
	case traffic.RequestMethod:
		v.HttpRequestMethodConfig = values
	case traffic.SourceIP:
		v.SourceIpConfig = values
	case traffic.QueryString:
		v.QueryStringConfig = &queriesView{}
		for _, q := range c.Query {
			v.QueryStringConfig.Values = append(v.QueryStringConfig.Values, queryView(q))
		}
	}
	return v
}

// configs are the members of a condition that have its values.
var configs = map[traffic.ConditionField]string{
	traffic.HostHeader: "HostHeaderConfig", traffic.PathPattern: "PathPatternConfig", traffic.HTTPHeader: "HttpHeaderConfig",
	traffic.RequestMethod: "HttpRequestMethodConfig", traffic.SourceIP: "SourceIpConfig", traffic.QueryString: "QueryStringConfig",
}

// maxValues is how many values the conditions of a rule have together; ELB's.
const maxValues = 5

// conditionsIn reads the conditions of a rule; nil when there are none.
func conditionsIn(in form) (all []traffic.Condition, err error) {
	given, err := in.structures("Conditions")
	if err != nil {
		return nil, err
	}
	values := 0
	for _, one := range given {
		c, err := conditionIn(one)
		if err != nil {
			return nil, err
		}
		values += len(c.Values) + len(c.Query)
		all = append(all, c)
	}
	if values > maxValues {
		return nil, wire.Errorf("TooManyRules", "The conditions of a rule can have %d values, not %d: make several rules", maxValues, values)
	}
	return all, nil
}

var (
	headerName = lazyregexp.New("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,40}$")
	method     = lazyregexp.New(`^[A-Z_-]{1,40}$`)
)

func conditionIn(in form) (c traffic.Condition, err error) {
	c.Field = traffic.ConditionField(in.text("Field"))
	config, known := configs[c.Field]
	if !known {
		return c, invalid("Condition field '%s' must be one of '[path-pattern, host-header, http-header, http-request-method, query-string, source-ip]'", c.Field)
	}
	of := in.in(config)
	if err := of.unsupported("RegexValues", "write patterns with * and ?."); err != nil {
		return c, err
	}
	if err := in.unsupported("RegexValues", "write patterns with * and ?."); err != nil {
		return c, err
	}
	if c.Field == traffic.QueryString {
		pairs, err := of.structures("Values")
		for _, pair := range pairs {
			c.Query = append(c.Query, traffic.QueryPair{Key: pair.text("Key"), Value: pair.text("Value")})
		}
		return c, firstOf(err, checkCondition(&c))
	}
	if c.Values, err = of.list("Values"); err == nil && len(c.Values) == 0 {
		c.Values, err = in.list("Values")
	}
	c.Header = of.text("HttpHeaderName")
	return c, firstOf(err, checkCondition(&c))
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// checkCondition refuses values that cannot fit.
func checkCondition(c *traffic.Condition) error {
	if len(c.Values)+len(c.Query) == 0 {
		return invalid("The condition %s needs a value.", c.Field)
	}
	if c.Field == traffic.HTTPHeader && !headerName.MatchString(c.Header) {
		return invalid("HttpHeaderName must be the name of a header of up to 40 characters, not %q.", c.Header)
	}
	for _, q := range c.Query {
		if q.Value == "" || len(q.Key) > maxKeyPart || len(q.Value) > maxKeyPart {
			return invalid("A query string condition has a value of 1 to %d bytes, and a key of up to as many.", maxKeyPart)
		}
	}
	for _, value := range c.Values {
		switch _, err := netip.ParsePrefix(value); {
		case value == "" || len(value) > maxKeyPart:
			return invalid("Values of the condition %s have 1 to %d bytes, not %q.", c.Field, maxKeyPart, value)
		case c.Field == traffic.SourceIP && err != nil:
			return invalid("Values of source-ip are CIDR blocks, such as 10.0.0.0/8, not %q.", value)
		case c.Field == traffic.RequestMethod && !method.MatchString(value):
			return invalid("Values of http-request-method are methods in capitals, not %q.", value)
		}
	}
	return nil
}
