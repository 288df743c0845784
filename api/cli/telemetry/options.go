// Package telemetry has the options of `pinion up` about where a host pushes what it measures.
package telemetry

import (
	"net/url"
	"os"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/raftfsm/issuer"
)

// Options are where the host pushes what it measures.
type Options struct {
	// Collector is the address of a collector that speaks OTLP over HTTP. Nil: nothing is pushed.
	Collector *url.URL
	given     string
}

// CollectorHeaders are the environment variables of OpenTelemetry with what goes into the header of each request, such as the token of a collector.
var CollectorHeaders = []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_METRICS_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"}

// Flags are the flags of the options.
func (o *Options) Flags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "otlp-endpoint", Destination: &o.given, Usage: "push metrics, and traces of tasks, to the OpenTelemetry collector at this `URL`, such as https://otel.example.com:4318"},
	}
}

// Complete parses the address. A token does not go to another machine in clear.
func (o *Options) Complete() error {
	if o.given == "" {
		return nil
	}
	u, err := url.Parse(o.given)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return exit.Usagef("--otlp-endpoint %q is no address of a collector: say https://HOST:4318, and put its token into %s", o.given, CollectorHeaders[0])
	}
	for _, variable := range CollectorHeaders {
		if u.Scheme == "http" && os.Getenv(variable) != "" && !issuer.IsLoopback(u) {
			return exit.Usagef("--otlp-endpoint %s: %s would go to another machine in clear: say https, or take the variable away", o.given, variable)
		}
	}
	o.Collector = u
	return nil
}
