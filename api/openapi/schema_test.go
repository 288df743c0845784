package openapi

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"pinion/api/wire"
)

type inner struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
}

type outer struct {
	inner
	Size  *int              `json:"size"` // hides inner's
	At    wire.Time         `json:"at,omitzero"`
	Made  time.Time         `json:"made"`
	Each  []inner           `json:"each,omitempty"`
	Free  map[string]string `json:"free,omitempty"`
	Any   any               `json:"any,omitempty"`
	Never wire.Unsupported  `json:"never"`
	Self  *outer            `json:"self,omitempty"`
}

// outerSchemas are the schemas of outer and of what it holds.
const outerSchemas = `{
 "Inner": {
  "properties": {
   "name": {
    "type": "string"
   },
   "size": {
    "type": "integer"
   }
  },
  "required": [
   "name",
   "size"
  ],
  "type": "object"
 },
 "Outer": {
  "properties": {
   "any": {},
   "at": {
    "description": "seconds since 1970",
    "type": "number"
   },
   "each": {
    "items": {
     "$ref": "#/components/schemas/Inner"
    },
    "type": "array"
   },
   "free": {
    "additionalProperties": {
     "type": "string"
    },
    "type": "object"
   },
   "made": {
    "format": "date-time",
    "type": "string"
   },
   "name": {
    "type": "string"
   },
   "self": {
    "$ref": "#/components/schemas/Outer"
   },
   "size": {
    "type": "integer"
   }
  },
  "required": [
   "made",
   "name",
   "size"
  ],
  "type": "object"
 }
}`

func TestAStructIsDescribedAsItIsWritten(t *testing.T) {
	var s Schemas
	if ref := s.Output(reflect.TypeFor[*outer]()); ref["$ref"] != "#/components/schemas/Outer" {
		t.Errorf("%v", ref)
	}
	text, err := json.MarshalIndent(s.All(), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != outerSchemas {
		t.Errorf("got %s", text)
	}
}

func TestTwoTypesOfOneNameAreToldApart(t *testing.T) {
	var s Schemas
	first := s.Input(reflect.TypeFor[inner]())
	type inner struct {
		Other bool `json:"other"`
	}
	if second := s.Input(reflect.TypeFor[inner]()); reflect.DeepEqual(first, second) || len(s.All()) != 2 {
		t.Errorf("%v, %v", first, second)
	}
}
