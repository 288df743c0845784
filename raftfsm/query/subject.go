package query

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pinion/gpu"
)

// subject is the left side of a comparison.
type subject struct {
	operators []operator
	tasks     bool // needs the host's tasks
	// compile returns the test of a comparison. name is the attribute's; the operator is one of operators.
	compile func(name string, o operator, arguments []lexeme) (func(HostFacts) bool, *Error)
	actual  func(f HostFacts, name string) string
}

func (s subject) allows(o operator) bool { return slices.Contains(s.operators, o) }

const subjectNames = "a subject is attribute:NAME, task:group, agentVersion, agentConnected, ec2InstanceId, registeredAt or runningTasksCount"

var attribute = subject{
	operators: allOperators,
	compile:   compileAttribute,
	actual: func(f HostFacts, name string) string {
		value, carried := f.attribute(name)
		switch {
		case !carried && f.GPU != nil && gpu.IsAttribute(name):
			return "the GPU does not have the attribute"
		case !carried:
			return "the host does not have the attribute"
		}
		return fmt.Sprintf("it is %q here", value)
	},
}

// subjects are all subjects except attribute, by name, each with the operators that ECS documents for it.
var subjects = map[string]subject{
	"task:group": {
		operators: slices.Concat(textual, presence), tasks: true, compile: compileGroup,
		actual: func(f HostFacts, _ string) string {
			if groups := f.groups(); len(groups) > 0 {
				return "the host has tasks of " + strings.Join(groups, ", ")
			}
			return "the host has no tasks"
		},
	},
	"agentVersion": {
		operators: ordering, compile: compileVersion,
		actual: func(f HostFacts, _ string) string { return fmt.Sprintf("it is %q here", f.Host.Version) },
	},
	"agentConnected": {
		operators: textual, compile: compileConnected,
		actual: func(f HostFacts, _ string) string { return fmt.Sprintf("it is %t here", f.Connected) },
	},
	"ec2InstanceId": {
		operators: textual, compile: compileID,
		actual: func(f HostFacts, _ string) string { return fmt.Sprintf("it is %q here", f.Host.Name) },
	},
	"registeredAt": {
		operators: ordering, compile: compileRegistered,
		actual: func(f HostFacts, _ string) string {
			return fmt.Sprintf("it is %s here", f.Host.RegisteredAt.UTC().Format(time.RFC3339))
		},
	},
	"runningTasksCount": {
		operators: ordering, tasks: true, compile: compileRunning,
		actual: func(f HostFacts, _ string) string { return fmt.Sprintf("it is %d here", f.running()) },
	},
}

func compileAttribute(name string, o operator, arguments []lexeme) (func(HostFacts) bool, *Error) {
	if o == exists || o == notExists {
		return func(f HostFacts) bool {
			_, carried := f.attribute(name)
			return carried == (o == exists)
		}, nil
	}
	test := testOf(o, arguments)
	return func(f HostFacts) bool {
		value, carried := f.attribute(name)
		return carried && test(value)
	}, nil
}

// compileGroup evaluates a negated operator as "no task of the group", which is the meaning that keeps tasks apart.
func compileGroup(_ string, o operator, arguments []lexeme) (func(HostFacts) bool, *Error) {
	positive, negated := o.negates()
	if positive == exists {
		return func(f HostFacts) bool { return (len(f.groups()) > 0) != negated }, nil
	}
	test := testOf(positive, arguments)
	return func(f HostFacts) bool { return slices.ContainsFunc(f.groups(), test) != negated }, nil
}

func compileVersion(_ string, o operator, arguments []lexeme) (func(HostFacts) bool, *Error) {
	given := arguments[0]
	wanted, ok := parseVersion(given.text)
	if !ok {
		return nil, errorAt(given.column, "%s is not a version such as 1.2.3", given)
	}
	return func(f HostFacts) bool {
		has, known := parseVersion(f.Host.Version)
		if !known {
			return o == notEquals
		}
		return o.accepts(has.compare(wanted))
	}, nil
}

func compileConnected(_ string, o operator, arguments []lexeme) (func(HostFacts) bool, *Error) {
	for _, a := range arguments {
		if o != matches && o != notMatches && a.text != "true" && a.text != "false" {
			return nil, errorAt(a.column, "agentConnected is true or false, not %s", a)
		}
	}
	test := testOf(o, arguments)
	return func(f HostFacts) bool { return test(strconv.FormatBool(f.Connected)) }, nil
}

// compileID compares the host's name, which replaces ECS's id of an EC2 instance.
func compileID(_ string, o operator, arguments []lexeme) (func(HostFacts) bool, *Error) {
	test := testOf(o, arguments)
	return func(f HostFacts) bool { return test(f.Host.Name) }, nil
}

func compileRegistered(_ string, o operator, arguments []lexeme) (func(HostFacts) bool, *Error) {
	given := arguments[0]
	wanted, precision, ok := parseTime(given.text)
	if !ok {
		return nil, errorAt(given.column, "%s is not a date such as 2018-06-18, 2018-06-18T22:28:28, 2018-06-18T22:28:28Z or 2018-06-18T22:28:28+00:00", given)
	}
	return func(f HostFacts) bool {
		return o.accepts(f.Host.RegisteredAt.UTC().Truncate(precision).Compare(wanted))
	}, nil
}

func compileRunning(_ string, o operator, arguments []lexeme) (func(HostFacts) bool, *Error) {
	given := arguments[0]
	wanted, err := strconv.ParseInt(given.text, 10, 64)
	if err != nil {
		return nil, errorAt(given.column, "%s is not a whole number", given)
	}
	return func(f HostFacts) bool { return o.accepts(cmp.Compare(f.running(), wanted)) }, nil
}
