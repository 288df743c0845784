package api

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"pinion/api/ecs"
	"pinion/api/openapi"
	"pinion/api/wire"
	"reflect"
)

// openapi serves the description of the plain door (OpenAPI 3.1), made from the two tables that it is served from.
func (d *door) openapi(w http.ResponseWriter, r *http.Request, _ caller, _ []byte) error {
	d.reply(w, r, typeJSON, http.StatusOK, describe(d.Version, d.routes()))
	return nil
}

const keyScheme, signatureScheme = "bearer", "signature"

func describe(version string, routes []route) openapi.Object {
	var schemas openapi.Schemas
	paths := openapi.Object{}
	for _, operation := range sortedOperations() {
		paths["/v1/"+operation.Name] = openapi.Object{"post": describeOperation(&schemas, operation)}
	}
	for _, line := range routes {
		methods, known := paths[line.path].(openapi.Object)
		if !known {
			methods = openapi.Object{}
			paths[line.path] = methods
		}
		methods[strings.ToLower(line.method)] = describeRoute(&schemas, line)
	}
	refusal := schemas.Output(reflect.TypeFor[wire.Error]())
	return openapi.Object{
		"openapi": "3.1.0",
		"info": openapi.Object{
			"title": "Pinion", "version": cmp.Or(version, "dev"),
			"description": "Amazon ECS's operations as plain HTTP, and what Pinion has beside them. An unknown field is refused. What needs a key says which role it needs (x-pinion-role).",
		},
		"paths": paths,
		"components": openapi.Object{
			"schemas":   schemas.All(),
			"responses": openapi.Object{"Error": content("what is wrong, and what to do", refusal, typeJSON)},
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
	described["requestBody"] = content("", schemas.Input(o.Input), typeJSON, "application/yaml")
	described["x-pinion-role"], described["x-pinion-changes"] = o.Role, o.Writes
	described["security"] = keyed()
	return described
}

func describeRoute(schemas *openapi.Schemas, line route) openapi.Object {
	described := answers(schemas, line.out)
	described["summary"], described["tags"] = line.about, []string{"Pinion"}
	if line.in != nil {
		described["requestBody"] = content("", schemas.Input(line.in), typeJSON)
	}
	if parameters := parametersOf(line); len(parameters) > 0 {
		described["parameters"] = parameters
	}
	if line.role != "" {
		described["x-pinion-role"] = line.role
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
		well = content("done", schemas.Output(out), typeJSON)
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
func parametersOf(line route) []openapi.Object {
	var parameters []openapi.Object
	for part := range strings.SplitSeq(line.path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			parameters = append(parameters, openapi.Object{"name": strings.TrimSuffix(name, "}"), "in": "path", "required": true, "schema": openapi.Object{"type": "string"}})
		}
	}
	for _, p := range line.query {
		parameters = append(parameters, openapi.Object{"name": p.name, "in": "query", "description": p.about, "schema": openapi.Object{"type": "string"}})
	}
	return parameters
}
