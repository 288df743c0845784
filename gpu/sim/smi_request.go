package sim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

var smiFields = []string{"index", "uuid", "name", "memory.total", "driver_version"}

// smiRequest is the parsed command line; the zero value asks for the table.
type smiRequest struct {
	help, list        bool
	fields            []string
	noHeader, noUnits bool
}

func readRequest(args []string) (smiRequest, error) {
	var r smiRequest
	format := ""
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		switch name {
		case "-h", "--help":
			r.help = true
		case "-L", "--list-gpus":
			r.list = true
		case "--query-gpu":
			r.fields = strings.Split(value, ",")
		case "--format":
			format = value
		default:
			return r, fmt.Errorf("the simulated nvidia-smi does not know %s; nvidia-smi -h says what it knows", arg)
		}
	}
	if len(r.fields) == 0 && format == "" {
		return r, nil
	}
	return r.checkQuery(format)
}

func (r smiRequest) checkQuery(format string) (smiRequest, error) {
	for i, field := range r.fields {
		r.fields[i] = strings.TrimSpace(field)
		if !slices.Contains(smiFields, r.fields[i]) {
			return r, fmt.Errorf("field %q is not a valid field to query; valid are %s", field, strings.Join(smiFields, " "))
		}
	}
	options := strings.Split(format, ",")
	if len(r.fields) == 0 || !slices.Contains(options, "csv") {
		return r, errors.New("a query takes both --query-gpu= and --format=csv")
	}
	r.noHeader, r.noUnits = slices.Contains(options, "noheader"), slices.Contains(options, "nounits")
	return r, nil
}
