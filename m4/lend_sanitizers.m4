dnl SPDX-License-Identifier: MIT
dnl
dnl LEND_SANITIZERS
dnl Adds --enable-tsan (ThreadSanitizer) and --enable-asan (AddressSanitizer
dnl with UndefinedBehaviorSanitizer), which exclude each other.  Sets
dnl LEND_SANITIZE_CFLAGS, for compiling and linking, C and C++; defines
dnl LEND_TSAN or LEND_ASAN; sets the conditionals TSAN, ASAN and SANITIZED.
AC_DEFUN([LEND_SANITIZERS], [
	AC_ARG_ENABLE([tsan],
	    [AS_HELP_STRING([--enable-tsan], [build with ThreadSanitizer])],
	    [], [enable_tsan=no])
	AC_ARG_ENABLE([asan],
	    [AS_HELP_STRING([--enable-asan],
		[build with AddressSanitizer and UndefinedBehaviorSanitizer])],
	    [], [enable_asan=no])

	LEND_SANITIZE_CFLAGS=
	AS_CASE([$enable_tsan:$enable_asan],
	    [yes:yes],
		[AC_MSG_ERROR([--enable-tsan and --enable-asan exclude each other])],
	    [yes:*], [
		LEND_SANITIZE_CFLAGS="-fsanitize=thread"
		AC_DEFINE([LEND_TSAN], [1],
		    [Define to 1 in a build with ThreadSanitizer.])
	    ],
	    [*:yes], [
		LEND_SANITIZE_CFLAGS="-fsanitize=address,undefined"
		AS_VAR_APPEND([LEND_SANITIZE_CFLAGS],
		    [" -fno-sanitize-recover=undefined"])
		AC_DEFINE([LEND_ASAN], [1],
		    [Define to 1 in a build with AddressSanitizer.])
	    ])

	AS_IF([test "x$LEND_SANITIZE_CFLAGS" != x], [
		AS_VAR_APPEND([LEND_SANITIZE_CFLAGS],
		    [" -fno-omit-frame-pointer"])
		AC_MSG_CHECKING([whether $CC links with the sanitizer])
		lend_saved_CFLAGS=$CFLAGS
		CFLAGS="$CFLAGS $LEND_SANITIZE_CFLAGS"
		AC_LINK_IFELSE([AC_LANG_PROGRAM], [AC_MSG_RESULT([yes])], [
			AC_MSG_RESULT([no])
			AC_MSG_ERROR([the compiler's sanitizer runtime is missing])
		])
		CFLAGS=$lend_saved_CFLAGS
	])

	# The stack frames that the runtime keeps for uses after a return are
	# not aligned to the widest vectors: not for what has such.
	LEND_SANITIZE_VECTOR_CFLAGS=
	AS_IF([test "x$enable_asan" = xyes], [
		m4_foreach_w([flag], [--param=asan-use-after-return=0
		    -fsanitize-address-use-after-return=never],
		    [LEND_APPEND_FLAG(flag, [LEND_SANITIZE_VECTOR_CFLAGS])])
	])
	AC_SUBST([LEND_SANITIZE_VECTOR_CFLAGS])
	AC_SUBST([LEND_SANITIZE_CFLAGS])
	AM_CONDITIONAL([TSAN], [test "x$enable_tsan" = xyes])
	AM_CONDITIONAL([ASAN], [test "x$enable_asan" = xyes])
	AM_CONDITIONAL([SANITIZED], [test "x$LEND_SANITIZE_CFLAGS" != x])
])
