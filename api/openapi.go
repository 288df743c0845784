package api

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	"pinion/api/ecs"
	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/api/openapi"
	"pinion/api/rest"
	"pinion/api/wire"
)

// openapiRoute serves the description of the API for plain HTTP (OpenAPI 3.1), made from the tables that it is served from:
// once, for the first request.
func openapiRoute(routes func() []rest.Route) rest.Route {
	description := sync.OnceValues(func() ([]byte, error) { return wire.Append(nil, describe(routes())) })
	return rest.Route{
		Method: http.MethodGet, Path: "/v1/openapi.json", Summary: "this description", Out: reflect.TypeFor[map[string]any](),
		Serve: func(x *httpx.Exchange, _ leader.Resolution) error {
			text, err := description()
			if err == nil {
				x.ReplyEncoded(http.StatusOK, text)
			}
			return err
		},
	}
}

// apiVersion is that of the API, as its paths have it. The version of the program is not told without a key.
const apiVersion = "1"

// The two forms of an access key in the description.
const keyScheme, signatureScheme = "bearer", "signature"

func describe(routes []rest.Route) openapi.Object {
	var schemas openapi.Schemas
	paths := openapi.Object{}
	for _, operation := range sortedOperations() {
		paths["/v1/"+operation.Name] = openapi.Object{"post": describeOperation(&schemas, operation)}
	}
	for _, route := range routes {
		methods, known := paths[route.Path].(openapi.Object)
		if !known {
			methods = openapi.Object{}
			paths[route.Path] = methods
		}
		methods[strings.ToLower(route.Method)] = describeRoute(&schemas, route)
	}
	refusal := schemas.Output(reflect.TypeFor[wire.Error]())
	return openapi.Object{
		"openapi": "3.1.0",
		"info": openapi.Object{
			"title": "Pinion", "version": apiVersion,
			"description": "Amazon ECS's operations as plain HTTP, and what Pinion has beside them. An unknown field is refused. What needs a key says which role it needs (x-pinion-role).",
		},
		"paths": paths,
		"components": openapi.Object{
			"schemas":   schemas.All(),
			"responses": openapi.Object{"Error": content("what is wrong, and what to do", refusal, httpx.JSON)},
			"securitySchemes": openapi.Object{
				keyScheme:       openapi.Object{"type": "http", "scheme": "bearer", "bearerFormat": "KEYID:SECRET"},
				signatureScheme: openapi.Object{"type": "apiKey", "in": "header", "name": "Authorization", "description": "AWS Signature Version 4, service ecs"},
			},
		},
	}
}

// sortedOperations is the table in the order of names.
func sortedOperations() []ecs.Operation {
	var operations []ecs.Operation
	for _, operation := range ecs.Operations {
		operations = append(operations, operation)
	}
	slices.SortFunc(operations, func(a, b ecs.Operation) int { return strings.Compare(a.Name, b.Name) })
	return operations
}

func describeOperation(schemas *openapi.Schemas, o ecs.Operation) openapi.Object {
	described := answers(schemas, o.Output)
	described["operationId"], described["tags"] = o.Name, []string{"Amazon ECS"}
	described["requestBody"] = content("", schemas.Input(o.Input), httpx.JSON, "application/yaml")
	described["x-pinion-role"], described["x-pinion-changes"] = o.Role, o.Writes
	described["security"] = keyed()
	return described
}

func describeRoute(schemas *openapi.Schemas, route rest.Route) openapi.Object {
	described := answers(schemas, route.Out)
	described["summary"], described["tags"] = route.Summary, []string{"Pinion"}
	if route.In != nil {
		described["requestBody"] = content("", schemas.Input(route.In), httpx.JSON)
	}
	if parameters := parametersOf(route); len(parameters) > 0 {
		described["parameters"] = parameters
	}
	if route.Role != "" {
		described["x-pinion-role"] = route.Role
		described["security"] = keyed()
	}
	return described
}

// keyed says that either form of a key will do.
func keyed() []openapi.Object {
	return []openapi.Object{{signatureScheme: []string{}}, {keyScheme: []string{}}}
}

// answers are what may come back: the answer, which is no JSON when out is nil, or an error.
func answers(schemas *openapi.Schemas, out reflect.Type) openapi.Object {
	well := openapi.Object{"description": "done"}
	if out != nil {
		well = content("done", schemas.Output(out), httpx.JSON)
	}
	return openapi.Object{"responses": openapi.Object{"200": well, "default": openapi.Object{"$ref": "#/components/responses/Error"}}}
}

func content(about string, schema openapi.Object, types ...string) openapi.Object {
	forms := openapi.Object{}
	for _, kind := range types {
		forms[kind] = openapi.Object{"schema": schema}
	}
	described := openapi.Object{"content": forms}
	if about != "" {
		described["description"] = about
	}
	return described
}

// parametersOf are what a path has in braces and what the query takes.
func parametersOf(route rest.Route) []openapi.Object {
	var parameters []openapi.Object
	for part := range strings.SplitSeq(route.Path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			parameters = append(parameters, openapi.Object{"name": strings.TrimSuffix(name, "}"), "in": "path", "required": true, "schema": openapi.Object{"type": "string"}})
		}
	}
	for _, p := range route.Query {
		parameters = append(parameters, openapi.Object{"name": p.Name, "in": "query", "description": p.Summary, "schema": openapi.Object{"type": "string"}})
	}
	return parameters
}
