package ecs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"

	"pinion/api/ecs/types"
)

// runTaskHash tells a retry from another request under the same client token. It covers every member but the token, and takes
// the cluster by its name.
func runTaskHash(cluster string, in *types.RunTaskInput) string {
	parameters := *in
	parameters.Cluster, parameters.ClientToken = cluster, ""
	return parametersHash(parameters)
}

// parametersHash hashes parameters in a canonical form: objects in the order of their names, without the members that ask for
// nothing. So it depends neither on how the client wrote them nor on the Go type: a member that is refused today, and so is always
// empty, counts the same when a later version reads it. The hash is recorded, and a retry may come after an upgrade.
func parametersHash(parameters any) string {
	text, err := json.Marshal(members(parameters))
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var document any
	if err := decoder.Decode(&document); err != nil {
		panic(err) // it was encoded just now
	}
	canonical, err := json.Marshal(withoutEmpty(document))
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:])
}

// members are those of an input, by their JSON names, without most of those that ask for nothing: a request has few others, and is not to pay
// for encoding and decoding all of them. Numbers are kept, a zero asks for something.
func members(input any) map[string]any {
	v := reflect.Indirect(reflect.ValueOf(input))
	asked := make(map[string]any)
	for i := range v.NumField() {
		switch member := v.Field(i); member.Kind() {
		case reflect.String, reflect.Bool, reflect.Slice, reflect.Map, reflect.Pointer, reflect.Interface:
			if member.IsZero() {
				continue
			}
		}
		asked[v.Type().Field(i).Tag.Get("json")] = v.Field(i).Interface()
	}
	return asked
}

// withoutEmpty is a JSON value without the members of objects that ask for nothing; nil when nothing is left.
func withoutEmpty(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			if v[name] = withoutEmpty(member); v[name] == nil {
				delete(v, name)
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		for i, item := range v {
			v[i] = withoutEmpty(item)
		}
		if len(v) == 0 {
			return nil
		}
	case string:
		if v == "" {
			return nil
		}
	case bool:
		if !v {
			return nil
		}
	}
	return value
}
