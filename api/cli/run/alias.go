package run

import (
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
)

// Alias is the name that a service gets in the namespace of its cluster.
type Alias struct {
	Protocol string // of the first published port: http, http2, grpc or tcp; also the name of that port
	Name     string
	Port     int // that clients connect to; 0: the container's
}

// AliasFlag is what ParseAlias reads.
func AliasFlag() cli.Flag {
	return &cli.StringFlag{Name: "alias", Usage: "tasks reach the service's first published port at this `[PROTOCOL://]NAME[:PORT]`: http (the default), http2, grpc or tcp"}
}

// ParseAlias is the alias that a command line gives; nil: none.
func ParseAlias(c *cli.Context) (*Alias, error) {
	given := c.String("alias")
	if given == "" {
		return nil, nil
	}
	protocol, rest, found := strings.Cut(given, "://")
	if !found {
		protocol, rest = "http", given
	}
	name, port, both := strings.Cut(rest, ":")
	a := &Alias{Protocol: protocol, Name: name}
	number, err := strconv.ParseUint(port, 10, 16)
	if a.Port = int(number); name == "" || both && (err != nil || number == 0) || !slices.Contains([]string{"http", "http2", "grpc", "tcp"}, protocol) {
		return nil, exit.Usagef("--alias %q is not [PROTOCOL://]NAME[:PORT], such as llm, grpc://embed:50051 or tcp://db:5432", given)
	}
	return a, nil
}

// Connect is the Service Connect of a service with the alias.
func (a *Alias) Connect() map[string]any {
	endpoint := map[string]any{"portName": a.Protocol, "discoveryName": a.Name}
	if a.Port != 0 {
		endpoint["clientAliases"] = []any{map[string]any{"port": a.Port}}
	}
	return map[string]any{"enabled": true, "services": []any{endpoint}}
}
