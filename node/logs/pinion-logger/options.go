package main

import (
	"errors"
	"strconv"
)

type options struct {
	path     string
	driver   string // ECS's name of the log driver; the file keeps the output of every driver
	group    string // log group of the container, which says how long its log is kept
	records  string // the expression that the first line of a record matches; empty: each line is one
	maxSize  int64  // bytes of one file
	maxFiles int    // number of files, the current one included
	floor    int64  // bytes of the disk that stay free
	owner    int    // of the streams: the id of the host that is root of the container, which opens them anew as /dev/stdout
}

// parse reads pairs of option and value in any order, because the shim's URI does not keep an order.
func parse(args []string) (options, error) {
	o := options{driver: "json-file", maxSize: 64 << 20, maxFiles: 4}
	if len(args)%2 != 0 {
		return o, errors.New("options come in pairs: -file PATH [-driver NAME] [-group NAME] [-multiline PATTERN] [-max-size BYTES] [-max-file COUNT] [-floor BYTES] [-owner ID]")
	}
	for i := 0; i < len(args); i += 2 {
		var err error
		switch name, value := args[i], args[i+1]; name {
		case "-file":
			o.path = value
		case "-driver":
			o.driver = value
		case "-group":
			o.group = value
		case "-multiline":
			o.records = value
		case "-max-size":
			o.maxSize, err = strconv.ParseInt(value, 10, 64)
		case "-max-file":
			o.maxFiles, err = strconv.Atoi(value)
		case "-floor":
			o.floor, err = strconv.ParseInt(value, 10, 64)
		case "-owner":
			o.owner, err = strconv.Atoi(value)
		default:
			err = errors.New("unknown option " + name)
		}
		if err != nil {
			return o, err
		}
	}
	if o.path == "" || o.maxSize < 1 || o.maxFiles < 1 || o.floor < 0 {
		return o, errors.New("-file is required, -max-size and -max-file are at least 1, -floor at least 0")
	}
	return o, nil
}
