package ssm

import (
	"errors"
	"regexp"

	"pinion/api/wire"
	"pinion/raftfsm/re2"
)

// Tiers, which bound the size of a value and are otherwise alike.
const (
	standard    = "Standard"
	advanced    = "Advanced"
	intelligent = "Intelligent-Tiering"
)

// Bounds of values, in bytes.
const (
	maxStandard = 4 << 10
	maxAdvanced = 8 << 10
)

// tierOf is the tier of a parameter that had one, or none yet, for a value of a size.
func tierOf(known, asked string, size int) (string, error) {
	tier := standard
	switch {
	case known == advanced && asked == standard:
		return "", errInvalid("This parameter uses the advanced-parameter tier. You can't downgrade a parameter from the advanced-parameter tier to the standard-parameter tier. If necessary, you can delete the advanced parameter and recreate it as a standard parameter.")
	case known == advanced, asked == advanced, asked == intelligent && size > maxStandard:
		tier = advanced
	}
	switch {
	case tier == standard && size > maxStandard:
		return "", errInvalid("Standard tier parameters support a maximum parameter value of %d bytes, and this one has %d. To create a larger parameter value, upgrade the parameter to use the advanced-parameter tier.", maxStandard, size)
	case size > maxAdvanced:
		return "", errInvalid("Advanced tier parameters support a maximum parameter value of %d bytes, and this one has %d. Secrets of Secrets Manager can have 65536.", maxAdvanced, size)
	}
	return tier, nil
}

// Bounds of an AllowedPattern: AWS's of its length, and one of what it becomes, so that matching it takes less than a second.
const (
	maxPattern     = 1024
	maxPatternSize = 4000
)

// checkPattern holds a value to the pattern of its parameter. The errors do not tell the value.
func checkPattern(pattern, value string) error {
	if pattern == "" {
		return nil
	}
	if len(pattern) > maxPattern {
		return errInvalid("AllowedPattern can have at most %d characters, not %d.", maxPattern, len(pattern))
	}
	_, err := re2.Check(pattern, re2.Cost{Instructions: maxPatternSize, Classes: re2.MaxClasses})
	if _, costs := errors.AsType[*re2.CostError](err); costs {
		return wire.Errorf(invalidPattern, "The AllowedPattern is too costly to match: %v.", err)
	}
	if err != nil {
		return wire.Errorf(invalidPattern, "The AllowedPattern does not compile: %v. Pinion's expressions are Go's (RE2), without lookahead, lookbehind and back references.", err)
	}
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return wire.Errorf(invalidPattern, "The AllowedPattern does not compile: %v.", err)
	}
	if !compiled.MatchString(value) {
		return wire.Errorf(patternMismatch, "The parameter value does not match the AllowedPattern %q of the parameter.", pattern)
	}
	return nil
}
