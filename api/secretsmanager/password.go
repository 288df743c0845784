package secretsmanager

import (
	"context"
	"crypto/rand"
	"math/big"
	"strings"

	"pinion/api/secrets"
)

// AWS's bounds of a password, and its kinds of characters.
const (
	maxPassword     = 4096
	defaultPassword = 32

	lowercase   = "abcdefghijklmnopqrstuvwxyz"
	uppercase   = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	numbers     = "0123456789"
	punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
	space       = " "
)

type passwordInput struct {
	PasswordLength          *int   `json:"PasswordLength"`
	ExcludeCharacters       string `json:"ExcludeCharacters"`
	ExcludeNumbers          bool   `json:"ExcludeNumbers"`
	ExcludePunctuation      bool   `json:"ExcludePunctuation"`
	ExcludeUppercase        bool   `json:"ExcludeUppercase"`
	ExcludeLowercase        bool   `json:"ExcludeLowercase"`
	IncludeSpace            bool   `json:"IncludeSpace"`
	RequireEachIncludedType *bool  `json:"RequireEachIncludedType"`
}

type passwordOutput struct {
	RandomPassword string `json:"RandomPassword"`
}

func getRandomPassword(_ context.Context, _ *secrets.Request, in *passwordInput) (*passwordOutput, error) {
	length := defaultPassword
	if in.PasswordLength != nil {
		length = *in.PasswordLength
	}
	if length < 1 || length > maxPassword {
		return nil, errInvalid("PasswordLength must be 1 to %d, not %d.", maxPassword, length)
	}
	if len(in.ExcludeCharacters) > maxPassword {
		return nil, errInvalid("ExcludeCharacters can have at most %d characters.", maxPassword)
	}
	kinds := in.kinds()
	all := strings.Join(kinds, "")
	if all == "" {
		return nil, errInvalid("Every character is excluded, so there is none to make a password of.")
	}
	password := make([]byte, 0, length)
	if in.RequireEachIncludedType == nil || *in.RequireEachIncludedType {
		if len(kinds) > length {
			return nil, errInvalid("A password of %d characters cannot have each of %d types of characters: set PasswordLength, or RequireEachIncludedType to false.", length, len(kinds))
		}
		for _, kind := range kinds {
			password = append(password, pick(kind))
		}
	}
	for len(password) < length {
		password = append(password, pick(all))
	}
	shuffle(password)
	return &passwordOutput{string(password)}, nil
}

// kinds are the characters that a password may have, by their types.
func (in *passwordInput) kinds() (kinds []string) {
	for _, kind := range []struct {
		characters string
		excluded   bool
	}{
		{lowercase, in.ExcludeLowercase}, {uppercase, in.ExcludeUppercase}, {numbers, in.ExcludeNumbers}, {punctuation, in.ExcludePunctuation}, {space, !in.IncludeSpace},
	} {
		left := strings.Map(func(c rune) rune {
			if strings.ContainsRune(in.ExcludeCharacters, c) {
				return -1
			}
			return c
		}, kind.characters)
		if !kind.excluded && left != "" {
			kinds = append(kinds, left)
		}
	}
	return kinds
}

// shuffle brings bytes into any order, each with the same chance.
func shuffle(b []byte) {
	for i := len(b) - 1; i > 0; i-- {
		j, err := rand.Int(rand.Reader, big.NewInt(int64(i+1)))
		if err != nil {
			panic(err) // crypto/rand never fails
		}
		b[i], b[j.Int64()] = b[j.Int64()], b[i]
	}
}
