package ctrd

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"pinion/node"
)

// logURI is how the shim starts the container's logger. json-file's max-size and max-file are honoured; what they
// mean is the same for every driver, because all output is kept by the same logger.
func (r *Runtime) logURI(c node.ContainerSpec) (string, error) {
	args := url.Values{"-file": {r.config.Logs(c.Task.ID, c.Def.Name)}}
	if c.Def.LogConfiguration != nil {
		if text := c.Def.LogConfiguration.Options["max-size"]; text != "" {
			size, err := parseSize(text)
			if err != nil {
				return "", fmt.Errorf("log option max-size: %w", err)
			}
			args.Set("-max-size", strconv.FormatInt(size, 10))
		}
		if text := c.Def.LogConfiguration.Options["max-file"]; text != "" {
			count, err := strconv.Atoi(text)
			if err != nil || count < 1 {
				return "", fmt.Errorf("log option max-file: %q is not a number of files, at least 1", text)
			}
			args.Set("-max-file", text)
		}
	}
	logger := url.URL{Scheme: "binary", Path: r.config.Logger, RawQuery: args.Encode()}
	return logger.String(), nil
}

// parseSize reads a size as docker writes it: "10m", "1g", "500k", or bytes.
func parseSize(text string) (int64, error) {
	digits := strings.TrimSuffix(strings.ToLower(text), "b")
	shift := 0
	for unit, bits := range map[string]int{"k": 10, "m": 20, "g": 30} {
		if number, found := strings.CutSuffix(digits, unit); found {
			digits, shift = number, bits
			break
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 1 || n > 1<<30 && shift > 0 {
		return 0, fmt.Errorf("%q is not a size such as 10m or 1g", text)
	}
	return n << shift, nil
}
