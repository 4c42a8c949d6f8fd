#ifndef CQUICSHIM_H
#define CQUICSHIM_H
#endif
