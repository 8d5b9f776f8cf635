dnl SPDX-License-Identifier: MIT
dnl
dnl LEND_APPEND_FLAG(FLAG, VARIABLE)
dnl Appends FLAG to the shell variable where the compiler of the present
dnl language takes it without complaint.  An unknown -W is only a warning to
dnl clang, hence -Werror.
AC_DEFUN([LEND_APPEND_FLAG], [
	AS_VAR_PUSHDEF([known],
	    [lend_cv_[]_AC_LANG_ABBREV[]_flag_[]m4_translit([$1], [-=+], [___])])
	AC_CACHE_CHECK([whether the _AC_LANG compiler takes $1], [known], [
		lend_saved_flags=$[]_AC_LANG_PREFIX[]FLAGS
		_AC_LANG_PREFIX[]FLAGS="$lend_saved_flags -Werror $1"
		AC_COMPILE_IFELSE([AC_LANG_PROGRAM],
		    [AS_VAR_SET([known], [yes])], [AS_VAR_SET([known], [no])])
		_AC_LANG_PREFIX[]FLAGS=$lend_saved_flags
	])
	AS_VAR_IF([known], [yes], [AS_VAR_APPEND([$2], [" $1"])])
	AS_VAR_POPDEF([known])
])

dnl LEND_WARNINGS
dnl Adds --enable-werror, and sets LEND_WARN_CFLAGS and, where there is a C++
dnl compiler ($lend_have_cxx), LEND_WARN_CXXFLAGS.
AC_DEFUN([LEND_WARNINGS], [
	AC_ARG_ENABLE([werror],
	    [AS_HELP_STRING([--enable-werror],
		[make the compiler's warnings errors])],
	    [], [enable_werror=no])

	LEND_WARN_CFLAGS=
	m4_foreach_w([flag], [-Wall -Wextra -Wshadow -Wstrict-prototypes
	    -Wmissing-prototypes -Wold-style-definition -Wvla],
	    [LEND_APPEND_FLAG(flag, [LEND_WARN_CFLAGS])])

	LEND_WARN_CXXFLAGS=
	AS_IF([test "x$lend_have_cxx" = xyes], [
		AC_LANG_PUSH([C++])
		m4_foreach_w([flag], [-Wall -Wextra],
		    [LEND_APPEND_FLAG(flag, [LEND_WARN_CXXFLAGS])])
		AC_LANG_POP([C++])
	])

	AS_IF([test "x$enable_werror" = xyes], [
		AS_VAR_APPEND([LEND_WARN_CFLAGS], [" -Werror"])
		AS_VAR_APPEND([LEND_WARN_CXXFLAGS], [" -Werror"])
	])
	AC_SUBST([LEND_WARN_CFLAGS])
	AC_SUBST([LEND_WARN_CXXFLAGS])
])
