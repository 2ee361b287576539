"""Where envsync does not read a file of the corpus as conda 24.7.1 does, and why."""

from __future__ import annotations

_BUILD = "pip takes it from a build, and a lock has no place for how a package was built"
_NO_PACKAGE = "conda looks for a package that no channel can have"
_MAPPING = "conda takes the keys of the mapping, and drops what stands behind them"
_QUOTES = "conda passes Python's value on, which is not what stands in the file"
_SHELL = "a shell would run what follows when the environment is activated"

REFUSED = {
    "blank-indent-uneven.yml": "one package would swallow the next",
    "channel-home-path.yml": "a home is not the same folder on every node",
    "channel-relative-path.yml": "on a node it would begin at another folder",
    "channels-mapping.yml": _MAPPING,
    "channels-text.yml": "conda takes each letter for a channel",
    "dependencies-empty.yml": "an environment without a package is a slip",
    "dependencies-mapping.yml": _MAPPING,
    "dependencies-missing.yml": "an environment without a package is a slip",
    "dependency-empty.yml": "conda asks for a package called `*`",
    "export-pip-freeze.yml": "the paths are those of the machine that built the packages",
    "line-end-in-spec.yml": _NO_PACKAGE,
    "list-as-key.yml": "conda ignores the key",
    "name-base.yml": "it is conda's own environment",
    "name-missing.yml": "conda would change the active environment",
    "name-non-ascii.yml": "a path in a locale that a node may not have",
    "name-null.yml": "conda would change the active environment",
    "null-key.yml": "conda ignores the key",
    "option-as-dependency.yml": _NO_PACKAGE,
    "package-at-sign.yml": _NO_PACKAGE,
    "package-file.yml": "a file of this machine, which the nodes do not have",
    "package-minus.yml": _NO_PACKAGE,
    "package-non-ascii.yml": _NO_PACKAGE,
    "package-with-extras.yml": "conda drops what stands in the brackets",
    "parentheses-optional.yml": "conda drops the version",
    "pip-block-scalar.yml": "one entry, two requirements: no line to name for the second",
    "pip-config-settings.yml": _BUILD,
    "pip-global-option.yml": _BUILD,
    "pip-line-end-in-entry.yml": "a second requirement could hide in the first",
    "pip-no-binary-after-requirement.yml": "pip ignores the option there",
    "pip-option-and-requirement.yml": "pip ignores the requirement there",
    "pip-option-use-feature.yml": "pip's experiments differ from one version to the next",
    "pip-section-mapping.yml": _MAPPING,
    "pip-section-text.yml": "conda takes each letter for a requirement",
    "pip-section-twice-one-empty.yml": "conda reads the last section only",
    "pip-section-twice.yml": "conda reads the last section only",
    "pip-vcs-editable.yml": "a node has no folder to edit it in",
    "prefix-without-name.yml": "conda ignores the prefix, and changes the active environment",
    "shell-text-as-package.yml": _NO_PACKAGE,
    "tag-set.yml": "a set has no order",
    "upper-case-key.yml": "conda ignores the key, and makes an empty environment",
    "variables-boolean.yml": _QUOTES,
    "variables-dollar.yml": _SHELL,
    "variables-float-exponent.yml": _QUOTES,
    "variables-float.yml": _QUOTES,
    "variables-hexadecimal.yml": _QUOTES,
    "variables-leading-zero.yml": _QUOTES,
    "variables-line-end.yml": _SHELL,
    "variables-list-value.yml": "conda sets it to the list as Python prints it",
    "variables-lower-case.yml": "conda sets it in upper case",
    "variables-mapping-value.yml": "conda sets it to the mapping as Python prints it",
    "variables-null-value.yml": "conda takes the variable away, which no lock can say",
    "variables-shell-text.yml": _SHELL,
    "version-empty.yml": "conda takes a version that was forgotten for any",
    "version-regex-without-brackets.yml": "py-rattler, which checks the result, has no such form",
    "version-regex.yml": "conda drops what stands in the brackets, and asks for `^1\\.2.*$`",
    "version-triple-equals.yml": "py-rattler, which checks the result, has no such form",
}
"""conda reads it, or seems to; envsync says what is wrong with it."""

READ = {
    "duplicate-key-dependencies.yml": "micromamba takes the last, and a notice says so",
    "duplicate-key-name.yml": "micromamba takes the last, and a notice says so",
    "duplicate-key-variables.yml": "micromamba takes the last, and a notice says so",
    "pip-editable-extras.yml": "conda was asked where the folder is not",
    "pip-local-path.yml": "conda was asked where the folder is not",
    "name-octal.yml": "a number for YAML 1.2 only; on a node conda is given a path, not the name",
}
"""conda refuses it; envsync reads it."""

OTHERWISE = {
    "channel-variable.yml": ({"channels"}, "the conda of the node fills in the variable"),
    "package-url-md5.yml": ({"dependencies"}, "conda takes the address apart into a version"),
    "package-url.yml": ({"dependencies"}, "conda takes the address apart into a version"),
    "pip-section-empty-list.yml": ({"dependencies"}, "conda adds pip for a section without lines"),
    "pip-section-null.yml": ({"dependencies"}, "conda adds pip for a section without lines"),
    "pip-variable.yml": ({"pip"}, "the pip of the node fills in the variable"),
    "variables-unset-mark.yml": ({"variables"}, "conda's own mark, passed on to conda as it is"),
}
"""Both read it, and these parts are not the same."""
