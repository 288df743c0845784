package cli

import (
	"strings"
	"testing"

	"pinion/api/cli/telemetry"
)

func TestACollectorHasAnAddress(t *testing.T) {
	if err := localMachine().check(); err != nil {
		t.Skip(err)
	}
	got, ran := upWith(t, "otlp-endpoint: https://otel.example.com:4318/push\n")
	if ran.code != 0 || got.Telemetry.Collector.String() != "https://otel.example.com:4318/push" {
		t.Fatalf("%v %+v", got.Telemetry.Collector, ran)
	}
	for _, given := range []string{"otel.example.com:4318", "grpc://otel:4317", "https://", "https://user:password@otel:4318", "https://otel:4318?token=x", "https://otel:4318#x", "::"} {
		if _, ran := upWith(t, "", "--otlp-endpoint", given); ran.code != 2 || !strings.Contains(ran.err, "--otlp-endpoint") {
			t.Errorf("%s: %+v", given, ran)
		}
	}
}

// What reads the network between a host and a collector does not get the token of the collector.
func TestTheTokenOfACollectorIsNotSentInClear(t *testing.T) {
	if err := localMachine().check(); err != nil {
		t.Skip(err)
	}
	for _, variable := range telemetry.CollectorHeaders {
		t.Run(variable, func(t *testing.T) {
			t.Setenv(variable, "Authorization=Bearer sesame")
			for given, refused := range map[string]bool{
				"http://otel.example.com:4318": true, "http://10.0.0.9:4318": true, "http://localhost.example.com:4318": true, "http://0.0.0.0:4318": true,
				"http://localhost:4318": false, "http://127.0.0.1:4318": false, "http://[::1]:4318": false, "https://otel.example.com:4318": false,
			} {
				if _, ran := upWith(t, "", "--otlp-endpoint", given); (ran.code == 2) != refused || strings.Contains(ran.err, "sesame") {
					t.Errorf("%s: %+v", given, ran)
				}
			}
		})
	}
}
